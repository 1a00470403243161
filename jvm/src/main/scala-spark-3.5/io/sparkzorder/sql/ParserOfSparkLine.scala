// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sql

import org.apache.spark.sql.catalyst.parser.ParserInterface

/** Spark 3.5 adds no parser method. The analyzer of Spark 3.5 binds the parameters of a statement. */
private[sql] trait ParserOfSparkLine extends DelegatingParser { self: ParserInterface => }
