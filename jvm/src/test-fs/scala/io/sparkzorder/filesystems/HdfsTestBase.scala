// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.filesystems

import java.nio.file.Files

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.hadoop.security.UserGroupInformation
import org.scalatest.{Args, Status}

import org.apache.spark.SparkConf
import org.apache.spark.sql.{DataFrame, Row}

import io.sparkzorder.commands.OptimizeTestBase

/** A suite on an HDFS cluster of its own. All of it, tasks too, runs as one user. */
abstract class HdfsTestBase extends OptimizeTestBase {
  protected var cluster: HdfsCluster = _
  private var tables = 0

  /** An ordinary user, unless a suite says otherwise. */
  protected def user: UserGroupInformation = HdfsCluster.alice

  override protected def sparkConf: SparkConf =
    HdfsCluster.settings.foldLeft(super.sparkConf) { case (conf, (k, v)) => conf.set(k, v) }

  // threads have the user of the thread that makes them
  override def run(testName: Option[String], args: Args): Status = {
    cluster = new HdfsCluster(Files.createTempDirectory("zorder-hdfs").toFile)
    try HdfsCluster.as(user)(super.run(testName, args))
    finally cluster.close()
  }

  /** A table directory below a new directory of alice. */
  protected def withHdfsTable(body: Path => Unit): Unit = {
    tables += 1
    body(new Path(s"${cluster.uri}/user/alice/test$tables/table"))
  }

  protected def writeTo(dir: Path, df: DataFrame, partitions: String*): Unit =
    df.write.mode("append").partitionBy(partitions: _*).parquet(dir.toString)

  protected def readFrom(dir: Path): DataFrame = spark.read.parquet(dir.toString)

  /** All files below a directory by relative path, as the superuser sees them. */
  protected def statuses(dir: Path): Map[String, FileStatus] = {
    val root = dir.toUri.getPath
    def below(d: Path): Seq[FileStatus] = cluster.superuser.listStatus(d).toSeq.flatMap { s =>
      if (s.isDirectory) below(s.getPath) else Seq(s)
    }
    if (!cluster.superuser.exists(dir)) Map.empty
    else {
      below(dir).map { s =>
        s.getPath.toUri.getPath.stripPrefix(root).stripPrefix("/") -> s
      }.toMap
    }
  }

  /** The user's files: length, modification time and checksum. */
  protected def contents(dir: Path): Map[String, (Long, Long, String)] =
    userStatuses(dir).map { case (name, s) =>
      val sum = String.valueOf(cluster.superuser.getFileChecksum(s.getPath))
      name -> ((s.getLen, s.getModificationTime, sum))
    }

  protected def userStatuses(dir: Path): Map[String, FileStatus] =
    statuses(dir).filterNot(_._1.split('/').exists(_.startsWith("_zorder")))

  /** Files that readers take for data. */
  protected def dataNames(dir: Path): Set[String] = userStatuses(dir).keySet.filterNot { n =>
    n.split('/').exists(p => p.startsWith(".") || p.startsWith("_") && !p.contains("="))
  }

  /** Nothing is staged, every record is done, and every name is hidden. */
  protected def checkStateOf(dir: Path): Unit = {
    val names = statuses(new Path(dir, "_zorder")).keySet
    names.foreach(n => assert(n.split('/').forall(_.startsWith("_")), n))
    assert(statuses(dir).keySet.filter(_.contains("/_new_")) === Set.empty)
    val records = names.filter(_.matches("_commits/_\\d+"))
    records.foreach(r => assert(names.contains(s"${r}_done"), r))
    assert(names.filter(_.contains("_tmp_")) === Set.empty)
  }

  /** Runs OPTIMIZE in place and checks rows and state after it. */
  protected def optimized(dir: Path, clauses: String = "ZORDER BY (a, b)"): Row = {
    val before = bag(readFrom(dir))
    val Array(row) = sql(s"OPTIMIZE '$dir' $clauses").collect()
    assert(bag(readFrom(dir)) === before)
    checkStateOf(dir)
    row
  }

  /** All messages of an error and its causes. */
  protected def messages(e: Throwable): String =
    Iterator.iterate(e)(_.getCause).takeWhile(_ != null).map(_.toString).mkString("\n")
}
