// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileStatus

/**
 * What an index holds, in numbers.
 *
 * @param columns names of the indexed columns, each once
 * @param bytes on disk
 */
private[sparkzorder] final case class IndexSummary(
    files: Long,
    rows: Long,
    columns: Seq[String],
    bytes: Long)

private[sparkzorder] object IndexSummary {

  /** @param file a generation of the index */
  def of(file: FileStatus, conf: Configuration): IndexSummary = {
    val reader = new IndexReader(file, conf)
    val files = reader.files()
    val live = (0 until files.size).filter(files.isLive)
    IndexSummary(
      live.size.toLong,
      live.map(files.rows(_)).sum,
      reader.header.indexed.map(_.name).distinct,
      reader.bytes)
  }
}
