// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.plans

/** An aggregate of ours whose result is a set of values, which is the same in every order of the rows. */
private[sparkzorder] trait FreeOfOrder
