package io.sparkzorder.commands

import java.io.File

import org.apache.hadoop.fs.Path
import org.apache.orc.{OrcFile, Reader}

import org.apache.spark.sql.{DataFrame, Row}

/** Tables of ORC files for what tests share; files are looked at by ORC's own reader. */
trait OrcTables extends OptimizeTestBase {

  override def write(df: DataFrame, dir: File, partitions: String*): Unit =
    df.write.mode("append").partitionBy(partitions: _*).orc(dir.getAbsolutePath)

  override def read(dir: File): DataFrame = spark.read.orc(dir.getAbsolutePath)

  override protected def rowsIn(file: File): Long = withOrc(file)(_.getNumberOfRows)

  def withOrc[T](file: File)(body: Reader => T): T = {
    val path = new Path(null, null, file.getAbsolutePath)
    val reader =
      OrcFile.createReader(path, OrcFile.readerOptions(spark.sessionState.newHadoopConf()))
    try body(reader)
    finally reader.close()
  }

  /** Paths of the data files below a table's directory. */
  def orcFiles(dir: File): Seq[File] =
    dataFiles(dir).map(f => new File(new File(dir, f.folder), f.name))

  /** OPTIMIZE of a directory, with all that must hold after it. */
  def optimizeOrc(dir: File, rest: String): Row =
    optimize(s"OPTIMIZE orc.`${dir.getAbsolutePath}` $rest", dir)(read(dir))

  def metric(row: Row, name: String): Long = row.getAs[Row]("metrics").getAs[Long](name)
}
