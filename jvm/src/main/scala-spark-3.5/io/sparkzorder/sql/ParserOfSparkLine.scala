// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sql

import org.apache.spark.sql.catalyst.parser.ParserInterface

/** Parser methods of Spark 3.5: none of its own; parameters are bound in the analyzed plan. */
private[sql] trait ParserOfSparkLine extends DelegatingParser { self: ParserInterface => }
