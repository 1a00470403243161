// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.torture

import java.io.File
import java.nio.file.{Files, StandardCopyOption}

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.example.data.Group
import org.apache.parquet.hadoop.ParquetReader
import org.apache.parquet.hadoop.example.GroupReadSupport

import org.apache.spark.sql.SparkSession

/** The table that is rewritten, and how an independent reader without Spark sees it. */
private[torture] object TortureTable {

  /** Writes the table: `folders` partitions of `files` files each. */
  def write(session: SparkSession, directory: File, folders: Int, files: Int, rows: Int): Unit =
    frame(session, 0, folders, files, rows).write.partitionBy("p")
      .parquet(directory.getAbsolutePath)

  /** Writes the same rows, or others, without partitions. */
  def writeFlat(
      session: SparkSession,
      directory: File,
      folders: Int,
      files: Int,
      rows: Int,
      from: Int = 0): Unit =
    frame(session, from, folders, files, rows).write.parquet(directory.getAbsolutePath)

  private def frame(session: SparkSession, from: Int, folders: Int, files: Int, rows: Int) =
    session.range(from.toLong, from + rows.toLong, 1, files)
      .selectExpr(
        "id",
        "cast(pmod(hash(id), 1000) as int) a",
        "cast(pmod(xxhash64(id, 7), 1000) as int) b",
        "concat('s', id % 50) s",
        s"id % $folders p")

  /** A copy with the modification times of the files. */
  def copy(from: File, to: File): File = {
    to.mkdirs()
    from.listFiles.foreach { f =>
      val target = new File(to, f.getName)
      if (f.isDirectory) copy(f, target)
      else Files.copy(f.toPath, target.toPath, StandardCopyOption.COPY_ATTRIBUTES)
    }
    to
  }

  /** A copy as Spark's writer of tables in Hive's format would have named the files. */
  def inHivesNames(from: File, to: File): File = {
    copy(from, to)
    visible(to).filter(_.endsWith(".parquet")).foreach { name =>
      val file = new File(to, name).toPath
      Files.move(file, file.resolveSibling(file.getFileName.toString.takeWhile(_ != '.')))
    }
    to
  }

  /** True for the table and what lies in it. */
  def holds(table: File, path: Path): Boolean = {
    val (inside, at) = (path.toUri.getPath, table.getAbsolutePath)
    inside == at || inside.startsWith(s"$at/")
  }

  private def isHidden(name: String) = name.startsWith("_") || name.startsWith(".")

  /** Data files that any engine sees, relative to the table. */
  def visible(table: File): Set[String] = {
    def below(d: File, prefix: String): Seq[String] =
      d.listFiles.toSeq.filterNot(f => isHidden(f.getName)).flatMap { f =>
        if (f.isDirectory) below(f, s"$prefix${f.getName}/") else Seq(prefix + f.getName)
      }
    below(table, "").toSet
  }

  /**
   * What a run that has ended must not leave: its token beside the data, files that are not visible
   * yet, and the directory of a conflict.
   *
   * @param runs ids of the runs; what a run left that did not commit is VACUUM's business
   */
  def hidden(table: File, runs: Set[String]): Set[String] = {
    val stream = Files.walk(table.toPath)
    try stream.iterator().asScala.map(p => table.toPath.relativize(p).toString).filter { p =>
        val name = p.split('/').last
        name.startsWith("part-zorder-") || name.endsWith("_closed") ||
        runs.exists(r => p.contains(s"_zorder_$r/_new_") || p.contains(s"_zorder_$r/_waiting"))
      }.toSet
    finally stream.close()
  }

  /** Directories of runs, and notes of runs that are under way or died. */
  def ofRuns(table: File): Set[String] = {
    val stream = Files.walk(table.toPath)
    try stream.iterator().asScala.map(p => table.toPath.relativize(p).toString)
        .filter(p => p.contains("_zorder_") || p.contains("_zorder/_runs/")).toSet
    finally stream.close()
  }

  /** Ids of the runs that have committed. */
  def runs(table: File): Set[String] = commits(table).filter(_.matches("_\\d+")).map { n =>
    val json = new com.fasterxml.jackson.databind.ObjectMapper()
      .readTree(new File(table, s"_zorder/_commits/$n"))
    json.path("run").asText
  }.toSet

  type Bag = Map[String, Int]

  /** The rows of the visible files with how often each occurs, read by Parquet's own reader. */
  def rows(table: File, conf: Configuration): Bag =
    bag(visible(table).toSeq.flatMap { name =>
      val reader = ParquetReader
        .builder(
          new GroupReadSupport(),
          new Path(new File(table, name).toURI)).withConf(conf).build()
      val folder = name.takeWhile(_ != '/').stripPrefix("p=")
      def p(g: Group) = if (g.getType.containsField("p")) g.getLong("p", 0).toString else folder
      try Iterator.continually(reader.read()).takeWhile(_ != null).map { g =>
          s"${g.getLong("id", 0)} ${g.getInteger("a", 0)} ${g.getInteger("b", 0)} " +
            s"${g.getString("s", 0)} ${p(g)}"
        }.toList
      finally reader.close()
    })

  /** The rows as a session with the extension reads them. */
  def rowsBySpark(session: SparkSession, table: File): Bag =
    bag(session.read.parquet(table.getAbsolutePath).select("id", "a", "b", "s", "p")
      .collect().toSeq.map(_.mkString(" ")))

  private def bag(rows: Seq[String]): Bag = rows.groupBy(identity).map { case (r, rs) =>
    r -> rs.size
  }

  def commits(table: File): Seq[String] =
    Option(new File(table, "_zorder/_commits").list()).toSeq.flatten.sorted

  /** Numbers of records without the mark of a published run. */
  def unfinished(table: File): Seq[String] = {
    val names = commits(table)
    names.filter(_.matches("_\\d+")).filterNot(n => names.contains(n + "_done"))
  }

  def delete(f: File): Unit = {
    if (f.isDirectory) {
      val stream = Files.walk(f.toPath)
      try stream.iterator().asScala.toSeq.reverse.foreach(Files.deleteIfExists(_))
      finally stream.close()
    } else Files.deleteIfExists(f.toPath)
    ()
  }
}
