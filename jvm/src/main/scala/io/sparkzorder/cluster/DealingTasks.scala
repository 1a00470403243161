// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.cluster

import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sparkzorder.SparkLine.Session

/**
 * Limits the number of map tasks of the shuffle that sends each row to the task of its new file. Each map
 * task writes one shuffle block for each new file, and the task of a new file fetches all blocks of this
 * file. Spark reads many small inputs with many tasks: 100,000 inputs of 18 kB had 3,125 tasks, and with
 * 10,000 new files these tasks wrote 31 million blocks of three rows. Where blocks would be so small, the
 * limit lets each task read more inputs.
 *
 * @param session a session of this statement alone, because [[limit]] changes a setting of the session
 */
private[sparkzorder] final class DealingTasks(session: Session) {
  import DealingTasks._

  private val wantedByUser = session.sessionState.conf.filesMaxPartitionNum

  /**
   * Sets the limit for the plan that runs next. Spark divides the inputs of this plan into about so many
   * tasks.
   *
   * @param rows number of rows of the inputs
   * @param bytes size of the inputs
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

  // a block should have at least so many rows, because each block costs a header of its compression and an
  // entry in two indexes
  private val RowsOfBlock = 64L
  // a block of fewer rows is large enough if it has so many bytes
  private val BytesOfBlock = 64L * 1024

  // several tasks for each core, so that a core whose task ends early has more work
  private val TasksOfCore = 3L
}
