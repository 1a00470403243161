// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.index

import java.io.File
import java.nio.file.Files

import org.apache.hadoop.fs.Path

import org.apache.spark.sql.Row

import io.sparkzorder.commands.OptimizeTestBase
import io.sparkzorder.index.{IndexContent, IndexReader, IndexStore, LongStats}

/** What tests of index statements share: the index as it is stored, beside the files as they lie. */
abstract class IndexTestBase extends OptimizeTestBase {

  protected def storeOf(dir: File) =
    new IndexStore(new Path(s"file:$dir"), spark.sessionState.newHadoopConf())

  protected def indexOf(dir: File): IndexContent =
    new IndexReader(storeOf(dir).generations().head, spark.sessionState.newHadoopConf()).content()

  protected def one(statement: String): Row = {
    val rows = sql(statement).collect()
    assert(rows.length === 1)
    rows.head
  }

  /** Each file in the index: path, length, modification time, rows. */
  protected def entries(dir: File): Set[(String, Long, Long, Long)] = {
    val f = indexOf(dir).files
    (0 until f.size).map(i => (f.path(i), f.lengths(i), f.modified(i), f.rows(i))).toSet
  }

  protected def listed(dir: File): Set[(String, Long, Long, Long)] = dataFiles(dir).map { f =>
    val path = if (f.folder.isEmpty) f.name else s"${f.folder}/${f.name}"
    (path, f.length, Files.getLastModifiedTime(new File(dir, path).toPath).toMillis, f.rows)
  }.toSet

  protected def names(dir: File): Seq[String] = indexOf(dir).columns.map(_._1.name)

  protected def bounds(dir: File, column: String): Seq[(Long, Long, Long)] = {
    val (_, v) = indexOf(dir).columns.find(_._1.name == column).get
    (v.nulls, v.min, v.max) match {
      case (n, LongStats(a), LongStats(b)) =>
        n.indices.map(i => (n(i), a(i), b(i)))
      case _ => fail(s"$column has no numbers")
    }
  }
}
