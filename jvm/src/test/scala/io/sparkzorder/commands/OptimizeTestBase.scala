// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands

import java.io.File
import java.nio.file.Files
import java.security.MessageDigest

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.Path
import org.apache.parquet.HadoopReadOptions
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.scalatest.tagobjects.Slow

import org.apache.spark.{SPARK_VERSION, SparkConf, SparkThrowable}
import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.types.{ArrayType, DataType, StructField, StructType}

import io.sparkzorder.{TestConditions, ZOrderSessionSuite}

/** A data file as an independent look at the directory sees it. */
final case class SeenFile(folder: String, name: String, length: Long, rows: Long)

/**
 * What tests of OPTIMIZE share. [[optimize]] checks every run: the rows are the same multiset, each
 * metric is what the directory shows, and `_zorder` holds only names that no engine takes for data.
 */
abstract class OptimizeTestBase extends ZOrderSessionSuite {

  /**
   * The paths of the files that the scans of a query list. A query with `input_file_name()` would read the visible
   * files of a shadow instead.
   */
  def listedFiles(df: DataFrame): Set[String] =
    df.queryExecution.sparkPlan.collect { case s: FileSourceScanExec =>
      s.relation.location.listFiles(s.partitionFilters, s.dataFilters).flatMap(_.files)
        .map(_.getPath.toString)
    }.flatten.toSet

  /** A test of two parts: each change runs the telling one, and a night the others as well. */
  protected def testParts(name: String)(telling: => Unit)(others: => Unit): Unit = {
    test(name)(telling)
    test(s"$name: the others", Slow)(others)
  }

  /** Interpreted is quicker for small data; [[OptimizeSuite]] runs generated code. */
  protected def codegen: Boolean = false

  override protected def sparkConf: SparkConf = {
    // Spark lists many folders by a job, of one task a folder by default
    val conf = super.sparkConf.set("spark.sql.sources.parallelPartitionDiscovery.parallelism", "2")
    if (codegen) conf
    else {
      conf.set("spark.sql.codegen.wholeStage", "false")
        .set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    }
  }

  /** The columns of a result as the docs have them: name, type and NOT NULL. */
  protected def describedColumns(result: DataFrame): Seq[String] =
    result.schema.fields.map(described(_, " ")).toSeq

  private def described(f: StructField, between: String): String =
    s"${f.name}$between${described(f.dataType)}${if (f.nullable) "" else " NOT NULL"}"

  // Spark's own text of a type says NOT NULL on some lines only
  private def described(t: DataType): String = t match {
    case s: StructType => s.fields.map(described(_, ": ")).mkString("STRUCT<", ", ", ">")
    case ArrayType(e, false) => s"ARRAY<${described(e)}>"
    case other => other.sql
  }

  /** Files of a directory tree: relative path to modification time and digest; directories too. */
  def snapshot(dir: File): Map[String, (Long, String)] = {
    val root = dir.toPath
    val stream = Files.walk(root)
    try stream.iterator().asScala.map { p =>
        val content =
          if (Files.isDirectory(p)) "directory"
          else {
            MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(p)).map(b => f"$b%02x")
              .mkString
          }
        root.relativize(p).toString -> (Files.getLastModifiedTime(p).toMillis -> content)
      }.toMap
    finally stream.close()
  }

  /** The snapshot of what belongs to the user: files, without ours and without directories. */
  def userFiles(dir: File): Map[String, (Long, String)] =
    snapshot(dir).filterNot { case (p, (_, content)) =>
      content == "directory" || p.split('/').exists(_.startsWith("_zorder"))
    }

  /** The data files of a table directory. */
  def dataFiles(dir: File): Seq[SeenFile] = {
    val root = dir.toPath
    def hidden(name: String): Boolean =
      name.startsWith(".") || (name.startsWith("_") && !name.contains("="))
    val stream = Files.walk(root)
    try stream.iterator().asScala.filter(Files.isRegularFile(_)).toSeq.flatMap { p =>
        val relative = root.relativize(p)
        if (relative.iterator().asScala.exists(part => hidden(part.toString))) None
        else {
          val folder = Option(relative.getParent).map(_.toString).getOrElse("")
          Some(SeenFile(folder, p.getFileName.toString, Files.size(p), rowsIn(p.toFile)))
        }
      }.sortBy(f => (f.folder, f.name))
    finally stream.close()
  }

  /** Rows of a data file, by its footer. */
  protected def rowsIn(file: File): Long = parquetFooter(file)._2

  protected def parquetFooter(file: File) = {
    val conf = spark.sparkContext.hadoopConfiguration
    val path = new Path(null, null, file.getAbsolutePath)
    val status = path.getFileSystem(conf).getFileStatus(path)
    // without options, Parquet reads all of Hadoop's settings for each file
    val options = HadoopReadOptions.builder(conf).build()
    val reader = ParquetFileReader.open(HadoopInputFile.fromStatus(status, conf), options)
    try {
      val both = (reader.getFooter, reader.getRecordCount)
      both
    } finally reader.close()
  }

  /** The rows with how often each occurs. */
  def bag(df: DataFrame): Map[Any, Int] =
    df.collect().toSeq.map(plain).groupBy(identity).map { case (r, rs) => r -> rs.size }

  /** What a session without the extension makes of a read. */
  def withoutExtension[T](body: => T): T = {
    var result = Option.empty[T]
    withSQLConf("spark.zorder.enabled" -> "false") { result = Some(body) }
    result.get
  }

  private def plain(v: Any): Any = v match {
    case r: Row => r.toSeq.map(plain)
    case a: Array[_] => a.toSeq.map(plain)
    case d: Double => java.lang.Double.doubleToLongBits(d) -> "double"
    case f: Float => java.lang.Float.floatToIntBits(f) -> "float"
    case other => other
  }

  /** Runs an in-place OPTIMIZE over a directory and checks all that must hold after each. */
  def optimize(statement: String, dir: File)(rows: => DataFrame): Row = {
    val bagBefore = bag(rows)
    val before = dataFiles(dir)
    val result = sql(statement).collect()
    assert(result.length === 1)
    assert(bag(rows) === bagBefore, s"rows after $statement")
    val after = dataFiles(dir)
    checkMetrics(result.head, dir, before, after)
    checkState(dir)
    result.head
  }

  /** Every metric of an in-place run against the files on disk. */
  def checkMetrics(row: Row, dir: File, before: Seq[SeenFile], after: Seq[SeenFile]): Unit = {
    val removed = before.diff(after)
    val added = after.diff(before)
    val m = row.getAs[Row]("metrics")
    def long(name: String) = m.getAs[Long](name)
    assert(long("numFilesAdded") === added.size)
    assert(long("numFilesRemoved") === removed.size)
    checkSizes(m.getAs[Row]("filesAdded"), added)
    checkSizes(m.getAs[Row]("filesRemoved"), removed)
    assert(long("partitionsOptimized") === removed.map(_.folder).distinct.size)
    assert(long("numRows") === removed.map(_.rows).sum)
    assert(added.map(_.rows).sum === removed.map(_.rows).sum)
    for (folder <- (added ++ removed).map(_.folder).distinct) {
      def rowsIn(files: Seq[SeenFile]) = files.filter(_.folder == folder).map(_.rows).sum
      assert(rowsIn(added) === rowsIn(removed), s"rows of folder $folder")
    }
    assert(long("totalFilesSkipped") === long("totalConsideredFiles") - removed.size)
    assert(long("sampledRows") <= long("numRows"))
    assert(long("startTimeMs") <= long("endTimeMs"))
    assert(long("retainedBytes") === removed.map(_.length).sum)
    assert(m.isNullAt(m.fieldIndex("retainedUntil")) === removed.isEmpty)
    val phases = row.getAs[scala.collection.Map[String, Long]]("phases")
    assert(phases.values.sum <= long("endTimeMs") - long("startTimeMs") + 1)
    assert(row.getAs[Boolean]("dryRun") === false)
    assert(new Path(row.getAs[String]("path")).toUri.getPath === dir.getCanonicalPath ||
      new Path(row.getAs[String]("path")).toUri.getPath === dir.getAbsolutePath)
  }

  private def checkSizes(sizes: Row, files: Seq[SeenFile]): Unit = {
    val lengths = files.map(_.length)
    assert(sizes.getAs[Long]("totalFiles") === lengths.size)
    assert(sizes.getAs[Long]("totalSize") === lengths.sum)
    if (lengths.isEmpty) Seq("min", "max", "avg").foreach(n => assert(sizes.getAs[Any](n) === null))
    else {
      assert(sizes.getAs[Long]("min") === lengths.min)
      assert(sizes.getAs[Long]("max") === lengths.max)
      assert(sizes.getAs[Double]("avg") === lengths.sum.toDouble / lengths.size)
    }
  }

  /** Directories of runs in the folders of a table. */
  def runDirectories(dir: File): Seq[File] = {
    val stream = Files.walk(dir.toPath)
    try stream.iterator().asScala.map(_.toFile).filter(f =>
        f.isDirectory && f.getName.startsWith("_zorder_")).toSeq.sorted
    finally stream.close()
  }

  /** Files in these directories whose names begin so: `_new_` or `_old_`. */
  def hidden(dir: File, prefix: String): Seq[File] =
    runDirectories(dir).flatMap(d => Option(d.listFiles).toSeq.flatten)
      .filter(_.getName.startsWith(prefix)).sorted

  /** Names under `_zorder` at every level, nothing staged left, every record done. */
  def checkState(dir: File): Unit = {
    val state = new File(dir, "_zorder")
    if (state.exists()) {
      val names = snapshot(state).keys.filter(_.nonEmpty).toSeq
      names.foreach { n =>
        n.split('/').foreach(part => assert(part.startsWith("_"), n))
        assert(!n.endsWith(".parquet"))
      }
      val records = names.filter(_.matches("_commits/_\\d+")).map(n =>
        new String(Files.readAllBytes(new File(state, n).toPath), "UTF-8"))
      // a kill may leave a note in the making, which VACUUM removes
      val notes = names.filter(n => n.startsWith("_runs/") && !n.startsWith("_runs/_tmp_"))
      notes.map(_.stripPrefix("_runs/_")).foreach { run =>
        assert(records.exists(_.contains(run)), s"a note of run $run, which has no record")
      }
      assert(hidden(dir, "_new_") ++ hidden(dir, "_waiting") === Nil)
      assert(snapshot(dir).keys.toSeq.filter(_.contains("part-zorder-")) === Nil)
      val commits = names.filter(_.startsWith("_commits/")).map(_.stripPrefix("_commits/"))
      commits.filter(_.matches("_\\d+")).foreach(c => assert(commits.contains(s"${c}_done")))
    }
  }

  def metric(row: Row, name: String): Long = row.getAs[Row]("metrics").getAs[Long](name)

  /** What a result row says of each ordering column. */
  def gains(row: Row): Seq[Row] = row.getSeq[Row](row.fieldIndex("columns"))

  /** Runs what must fail with a condition, and whose message must hold some words. */
  def fails(condition: String, words: String*)(body: => Any): Throwable = {
    val e = intercept[Throwable](body)
    val raised = Iterator.iterate(e)(_.getCause).takeWhile(_ != null).collectFirst {
      case s: SparkThrowable => s
    }
    assert(raised.map(TestConditions.of) === Some(condition), s"raised: $e")
    // before Spark 4.1, a copy that the analyzer makes of an error has no SQLSTATE
    if (!Seq("3.5", "4.0").exists(SPARK_VERSION.startsWith))
      assert(raised.get.getSqlState != null, condition)
    words.foreach(w => assert(raised.get.asInstanceOf[Throwable].getMessage.contains(w)))
    e
  }

  /** `n` rows with two independent columns of 1,000 values, in `files` files without any order. */
  def shuffled(n: Int, files: Int): DataFrame =
    spark.range(0, n, 1, files).selectExpr(
      "id",
      "pmod(hash(id), 1000) a",
      "pmod(xxhash64(id, 7), 1000) b",
      "concat('s', pmod(hash(id, 3), 50)) s")

  /**
   * Writes a table of Parquet files. No new file has a modification time in whole seconds, because UNDO makes no index
   * entry of such a file, and one file in 250 has such a time by chance.
   */
  def write(df: DataFrame, dir: File, partitions: String*): Unit = {
    val tick = 10L
    val sinceMs = System.currentTimeMillis() - tick
    df.write.mode("append").partitionBy(partitions: _*).parquet(dir.getAbsolutePath)
    val tree = Files.walk(dir.toPath)
    try tree.iterator().asScala.map(_.toFile)
        .filter(f => f.getName.endsWith(".parquet") && f.lastModified >= sinceMs)
        .filter(_.lastModified % 1000 == 0)
        .foreach(f => assert(f.setLastModified(f.lastModified + 1)))
    finally tree.close()
  }

  def read(dir: File): DataFrame = spark.read.parquet(dir.getAbsolutePath)

  def withTableDir(body: File => Unit): Unit = withTempDir { d =>
    body(new File(d.getCanonicalFile, "table"))
  }

  def locationOf(table: String): File = new File(
    spark.sessionState.catalog.getTableMetadata(TableIdentifier(table)).location.getPath)

  /** OPTIONS that make about `files` files of a directory. */
  def sizeFor(dir: File, files: Int): String =
    s"'targetFileSize' '${dataFiles(dir).map(_.length).sum / files}'"

  /** Mean files that a point query on a BIGINT or INT column must open, by footers alone. */
  def filesPerPoint(dir: File, column: String, values: Seq[Long]): Double = {
    val ranges = dataFiles(dir).map { f =>
      val meta = parquetFooter(new File(new File(dir, f.folder), f.name))._1
      val chunks = meta.getBlocks.asScala.flatMap(_.getColumns.asScala)
        .filter(_.getPath.toDotString == column).map(_.getStatistics)
      def numbers(pick: org.apache.parquet.column.statistics.Statistics[_] => Any) =
        chunks.map(s => pick(s).asInstanceOf[Number].longValue)
      (numbers(_.genericGetMin).min, numbers(_.genericGetMax).max)
    }
    values.map(v => ranges.count { case (lo, hi) => lo <= v && v <= hi }).sum.toDouble /
      values.size
  }
}
