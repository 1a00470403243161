// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.cluster

import org.apache.spark.sql.Column
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.sparkzorder.SparkLine.Frame

/**
 * The rows of some files of a table, of any format, with one more column that tells the folder of a
 * row. Sampling and layout need no more than this.
 */
private[sparkzorder] trait InputRows {

  /** The data columns and the folder column; other columns may follow. */
  def frame: Frame

  /**
   * Name of the folder column, an INT that is never NULL: the position of the row's folder. No data
   * column has this name.
   */
  def folderColumn: String

  /**
   * A BIGINT hash of the file of a row and of its position there. The hash is the same in every
   * attempt of a task, unlike a random number.
   */
  def rowHash: Column

  final def folder: Attribute = attribute(folderColumn)

  final def attribute(name: String): Attribute =
    frame.queryExecution.analyzed.output.find(_.name == name).get

  /** An ordering column by its name parts. */
  final def resolve(parts: Seq[String]): Expression =
    frame.queryExecution.analyzed
      .resolve(parts, frame.sparkSession.sessionState.conf.resolver)
      .getOrElse(throw new NoSuchElementException(parts.mkString(".")))
}
