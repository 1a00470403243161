// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import java.io.File

import org.apache.hadoop.fs.Path
import org.scalatest.tagobjects.Slow

import io.sparkzorder.conf.RelationConf
import io.sparkzorder.skipping.SkippingTestBase

/** Reads find the index of their table, whatever names the read and the folders have. */
class TableRootsSuite extends SkippingTestBase {

  private def tens(from: Int) = spark.range(from.toLong, from + 10L).selectExpr("id i", "id % 2 p")

  private def files(dir: File): Seq[String] =
    dataFiles(dir).map(f => new File(dir, f.name).getPath)

  /** What a query reads and how many files the index alone keeps, by the numbers of its scan. */
  private def keptOf(query: String): (Long, Long) = {
    val rows = sql(s"SHOW SKIPPING FOR $query").collect()
    assert(bag(sql(query)) === withoutSkipping(bag(sql(query))))
    (rows.head.getAs[Long]("files"), rows.head.getAs[Long]("filesKept"))
  }

  test("a catalog table whose location is called like a partition") {
    withTableDir { dir =>
      val home = new File(dir, "day=1")
      filesOf(home, tens(0), tens(10), tens(20))
      withTable("t") {
        sql(s"CREATE TABLE t (i BIGINT, p BIGINT) USING parquet LOCATION '$home'")
        sql("CREATE ZORDER INDEX ON t")
        assert(keptOf("SELECT * FROM t WHERE i = 15") === ((3L, 1L)))
        sql(s"OPTIMIZE '$home' ZORDER BY i DRY RUN").collect()
      }
      // and by path
      assert(keptOf(s"SELECT * FROM parquet.`$home` WHERE i = 15") === ((3L, 1L)))
      fails("ZORDER_PATH_NOT_A_TABLE", "one partition")(
        sql(s"OPTIMIZE '$home' ZORDER BY i DRY RUN").collect())
    }
  }

  test("a catalog table whose partitions lie in folders of any name") {
    withTableDir { dir =>
      withTable("t") {
        sql(s"CREATE TABLE t (i BIGINT, p BIGINT) USING parquet PARTITIONED BY (p) LOCATION '$dir'")
        (0 to 2).foreach { p =>
          val folder = new File(dir, s"folder$p")
          tens(p * 10).select("i").coalesce(1).write.parquet(folder.getPath)
          sql(s"ALTER TABLE t ADD PARTITION (p = $p) LOCATION '$folder'")
        }
        sql("CREATE ZORDER INDEX ON t")
        assert(keptOf("SELECT * FROM t WHERE i = 15") === ((3L, 1L)))
        assert(keptOf("SELECT * FROM t WHERE i = 15 AND p > 0") === ((2L, 1L)))
      }
    }
  }

  test("files and globs that are read by name") {
    withTableDir { dir =>
      filesOf(dir, tens(0), tens(10), tens(20))
      createIndex(dir)
      assert(keptByIndex(spark.read.parquet(files(dir): _*).where("i = 15")) === 1)
      assert(keptByIndex(spark.read.parquet(s"$dir/*.parquet").where("i = 15")) === 1)
      assert(keptByIndex(spark.read.parquet(files(dir).head).where("i = 35")) === 0)
      val rows = bag(spark.read.parquet(files(dir): _*).where("i = 15"))
      assert(rows === withoutSkipping(bag(spark.read.parquet(dir.getPath).where("i = 15"))))
    }
  }

  test("folders of partitions that are read by name, in any number") {
    withTableDir { dir =>
      tens(0).union(tens(10)).selectExpr("i", "i % 40 p").repartition(1)
        .write.partitionBy("p").parquet(dir.getPath)
      createIndex(dir)
      val folders = dir.listFiles().filter(_.getName.startsWith("p=")).map(_.getPath).toSeq
      assert(folders.size === 20)
      assert(keptByIndex(spark.read.parquet(folders: _*).where("i = 15")) === 1)
    }
  }

  test("many tables in one read", Slow) {
    withTableDir { dir =>
      val tables = (0 until 25).map(n => new File(dir, s"t$n"))
      tables.zipWithIndex.foreach { case (t, n) =>
        filesOf(t, tens(n * 10))
        createIndex(t)
      }
      assert(keptByIndex(spark.read.parquet(tables.map(_.getPath): _*).where("i = 15")) === 1)
    }
  }

  test("a read of many files asks for no state beside each of them") {
    withTableDir { dir =>
      filesOf(dir, tens(0), tens(10), tens(20))
      def searched(paths: Seq[String]): Seq[Path] = {
        val relation = scanOf(spark.read.parquet(paths: _*).where("i = 1")).relation
        new TableRoots(None, new RelationConf(relation)).searchFrom(relation.location)
      }
      val home = new Path(s"file:$dir")
      assert(searched(files(dir)) === Seq(home))
      assert(searched(files(dir).take(1)) === Seq(home))
      assert(searched(Seq(dir.getPath)) === Seq(home))
    }
  }
}
