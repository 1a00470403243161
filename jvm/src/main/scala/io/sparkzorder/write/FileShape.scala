package io.sparkzorder.write

import org.apache.spark.sql.execution.datasources.FileFormat

/** How a rewritten file looks; each format of data files has its own. */
trait FileShape {

  /** Compression by Spark's short name, such as `zstd`. */
  def codec: String

  /** Spark's writer, made to write such files. */
  private[sparkzorder] def writer: FileFormat
}
