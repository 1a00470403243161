package io.sparkzorder.write

import org.apache.spark.TaskContext

/**
 * The number of rows that a task writes into its file.
 *
 * A task reads the rows of its file from the shuffle and sorts them. The sort ends only when all rows
 * are read, so Spark's own count of the rows read is complete before the first row is written. Only
 * the sizes of pages and row groups follow from it. A shuffle manager that does not count leaves the
 * planned sizes.
 */
private[write] object RowsOfTask {

  /** None outside of a task, and where nothing was counted. */
  def known: Option[Long] =
    Option(TaskContext.get()).map(_.taskMetrics().shuffleReadMetrics.recordsRead).filter(_ > 0)
}
