// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordered

import org.apache.hadoop.mapreduce.TaskAttemptContext

import org.apache.spark.TaskContext
import org.apache.spark.internal.io.FileCommitProtocol.TaskCommitMessage
import org.apache.spark.sql.execution.datasources.SQLHadoopMapReduceCommitProtocol

/** Spark's own commit of files, which a test disturbs. */
class DisturbedCommit(job: String, path: String, dynamic: Boolean)
    extends SQLHadoopMapReduceCommitProtocol(job, path, dynamic) {

  override def commitTask(attempt: TaskAttemptContext): TaskCommitMessage = {
    DisturbedCommit.before(TaskContext.get())
    val message = super.commitTask(attempt)
    DisturbedCommit.after(TaskContext.get())
    message
  }
}

object DisturbedCommit {
  val setting: (String, String) =
    "spark.sql.sources.commitProtocolClass" -> classOf[DisturbedCommit].getName

  @volatile private var before: TaskContext => Unit = (_: TaskContext) => ()
  @volatile private var after: TaskContext => Unit = (_: TaskContext) => ()

  /** @param act runs in each task that has written its rows, before its commit */
  def before[T](act: TaskContext => Unit)(body: => T): T = {
    before = act
    try body
    finally before = _ => ()
  }

  /** @param act runs in each task that has committed its files */
  def after[T](act: TaskContext => Unit)(body: => T): T = {
    after = act
    try body
    finally after = _ => ()
  }
}
