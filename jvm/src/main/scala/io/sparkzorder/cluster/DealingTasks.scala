// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.cluster

import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sparkzorder.SparkLine.Session

/**
 * How many tasks read the rows that are dealt to files. Each of these tasks writes a block for each file, and
 * the task of a file fetches all its blocks. Spark gives many small inputs many tasks: 100,000 inputs
 * of 18 kB had 3,125, and with 10,000 new files 31 million blocks of three rows. So tasks read more
 * inputs where blocks would be small.
 *
 * @param session of one statement, since its settings are changed
 */
private[sparkzorder] final class DealingTasks(session: Session) {
  import DealingTasks._

  private val wantedByUser = session.sessionState.conf.filesMaxPartitionNum

  /**
   * Sets the limit for the plan that runs next. Spark divides its inputs into about as many tasks.
   *
   * @param rows of the inputs
   * @param bytes of the inputs
   * @param files number of the new files
   */
  def limit(rows: Long, bytes: Long, files: Int): Unit = {
    val filled = math.max(rows / RowsOfBlock, bytes / BytesOfBlock) / math.max(1, files)
    val busy = TasksOfCore * session.sparkContext.defaultParallelism
    val most = math.min(math.max(filled, busy), Int.MaxValue).toInt
    session.conf.set(
      SQLConf.FILES_MAX_PARTITION_NUM.key,
      wantedByUser.fold(most)(math.min(_, most)).toLong)
  }
}

private object DealingTasks {

  // a block has a header for its compression, and an entry in two indexes
  private val RowsOfBlock = 64L
  // few rows are enough if they are large
  private val BytesOfBlock = 64L * 1024

  // so that cores whose tasks end early have work
  private val TasksOfCore = 3L
}
