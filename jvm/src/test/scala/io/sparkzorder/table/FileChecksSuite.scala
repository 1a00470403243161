// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table

import java.io.File
import java.nio.file.Files

import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.catalog.{CatalogStorageFormat, CatalogTablePartition}
import org.apache.spark.sql.types.StructType

import io.sparkzorder.log.StateTestBase

/** Each refusal of [[FileChecks]] over listings that are made by hand. */
class FileChecksSuite extends StateTestBase {
  private val unsupported = "ZORDER_UNSUPPORTED_TABLE"

  private def listing(dir: File, names: String*): TableFiles = {
    val root = new Path(s"file:${dir.getAbsolutePath}")
    val paths = names.map(n => new Path(root, n))
    val folders = paths.map(_.getParent).distinct.map(new Folder(_, InternalRow.empty))
    val files = paths.map { p =>
      DataFile(folders.find(_.path == p.getParent).get, new FileStatus(1, false, 1, 1, 1, p))
    }
    TableFiles(root, new StructType(), None, folders.toIndexedSeq, files.toIndexedSeq, Nil)
  }

  private def target(dir: File, format: DataFormat): Target =
    PathTarget(s"file:${dir.getAbsolutePath}", format)

  test("files of another format, when all of them are") {
    withTable { (dir, _) =>
      def check(format: DataFormat, names: String*): Unit =
        FileChecks.checkFiles(target(dir, format), listing(dir, names: _*))
      check(ParquetFiles)
      check(ParquetFiles, "a.parquet", "b.orc", "c")
      fails(unsupported, "a directory of ORC files", "orc.`")(check(ParquetFiles, "a.orc", "b.orc"))
      fails(unsupported, "a directory of Parquet files")(check(OrcFiles, "a.parquet"))
    }
  }

  test("names of buckets, when all files have them") {
    withTable { (dir, _) =>
      def check(names: String*): Unit =
        FileChecks.checkFiles(target(dir, ParquetFiles), listing(dir, names: _*))
      val job = "0b2a3b5e-9f5e-4f64-8c5c-3f7f1f1d2a10"
      val (one, two) = (s"part-00001-${job}_00001.c000.parquet", s"part-00002-${job}_00000.parquet")
      check(one, s"part-00002-$job.c000.parquet")
      fails(unsupported, "bucketed")(check(one, two))
      // names that other programs give
      check("events_20240101.parquet", "events_20240102.parquet")
      check("data_0_0_0.snappy.parquet")
      check("0000_part_00.parquet")
    }
  }

  test("partitions of a Hive-format table in another format") {
    withTable { (dir, _) =>
      def partition(serde: Option[String]) =
        CatalogTablePartition(Map("p" -> "1"), CatalogStorageFormat.empty.copy(serde = serde))
      def check(serdes: Option[String]*): Unit =
        FileChecks.checkPartitions(target(dir, ParquetFiles), serdes.map(partition))
      check(None, Some("org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"))
      fails(unsupported, "partition p=1 is no Parquet", "OrcSerde")(
        check(None, Some("org.apache.hadoop.hive.ql.io.orc.OrcSerde")))
    }
  }

  test("symbolic links below the root; the root itself may be a link") {
    withTable { (base, _) =>
      val dir = new File(base, "real")
      put(dir, "p=1/a.parquet", "x")
      put(base, "elsewhere/b.parquet", "x")
      def check(root: File, name: String): Unit =
        FileChecks.checkLinks(target(root, ParquetFiles), listing(root, name))
      check(dir, "p=1/a.parquet")
      Files.createSymbolicLink(new File(base, "link").toPath, dir.toPath)
      check(new File(base, "link"), "p=1/a.parquet")
      Files.createSymbolicLink(new File(dir, "p=2").toPath, new File(base, "elsewhere").toPath)
      fails("ZORDER_SYMBOLIC_LINK", "p=2")(check(dir, "p=2/b.parquet"))
      Files.createSymbolicLink(
        new File(dir, "p=1/c.parquet").toPath,
        new File(base, "elsewhere/b.parquet").toPath)
      fails("ZORDER_SYMBOLIC_LINK", "c.parquet")(check(dir, "p=1/c.parquet"))
    }
  }
}
