// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite

import java.io.File
import java.nio.file.Files

import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.types.MetadataBuilder

import io.sparkzorder.commands.OptimizeTestBase

/** Tables as people have them: much beside nothing, comments, and files that are no data. */
class OptimizeInputsSuite extends OptimizeTestBase {
  override protected def codegen: Boolean = true

  for ((n, tags) <- Seq(30000 -> Nil, 300000 -> Seq(Slow))) test(
    s"a file of $n rows beside empty ones",
    tags: _*) {
    withTableDir { dir =>
      val large = spark.range(0, n, 1, 1).selectExpr("id", "pmod(hash(id), 1000) a")
      write(large, dir)
      for (_ <- 1 to 6) write(large.where("id < 0").coalesce(1), dir)
      def sums = read(dir).selectExpr(
        "count(*)",
        "sum(id)",
        "sum(xxhash64(id, a) % 1000003)").head()
      val (before, files) = (sums, dataFiles(dir))
      assert(files.map(_.rows).sorted === Seq(0, 0, 0, 0, 0, 0, n))
      val row =
        sql(s"OPTIMIZE '$dir' ZORDER BY (id, a) OPTIONS (${sizeFor(dir, 8)})").head()
      assert(sums === before)
      val after = dataFiles(dir)
      checkMetrics(row, dir, files, after)
      checkState(dir)
      assert(after.forall(_.rows > 0))
      assert(after.size >= 6 && after.size <= 12, after)
      assert(after.map(_.rows).max <= n / 8 * 1.7)
    }
  }

  test("column comments and metadata, in the files and in the catalog") {
    withTable("t") {
      sql("CREATE TABLE t (id BIGINT COMMENT \"the 'key'\", " +
        "s STRUCT<x: INT COMMENT 'inner', y: STRING> COMMENT 'größe') USING parquet " +
        "COMMENT 'of the table' TBLPROPERTIES ('mine' = 'yes')")
      sql("INSERT INTO t SELECT id, named_struct('x', int(id), 'y', 'v') FROM range(0, 100, 1, 3)")
      val dir = locationOf("t")
      def catalog = sql("DESCRIBE TABLE EXTENDED t").collect().toSeq
      val (schema, described) = (read(dir).schema, catalog)
      assert(schema("id").getComment() === Some("the 'key'"))
      for (statement <- Seq("OPTIMIZE t ZORDER BY (id, s.x)", "OPTIMIZE t FULL")) {
        optimize(statement, dir)(spark.table("t"))
        val now = read(dir).schema
        assert(now("id") === schema("id"))
        assert(now("s").dataType === schema("s").dataType)
        // Spark 3.5 and 4.0 write a struct without its own comment, which the catalog still has
        if (schema("s").getComment().isDefined) assert(now === schema)
        assert(catalog === described)
      }
    }
    withTableDir { dir =>
      val mine = new MetadataBuilder().putString("unit", "m").putLongArray("l", Array(1, 2)).build()
      val df: DataFrame = spark.range(0, 100, 1, 2).toDF()
      write(df.select(df("id").as("id", mine)), dir)
      val schema = read(dir).schema
      assert(schema("id").metadata === mine)
      optimize(s"OPTIMIZE '$dir' ZORDER BY id", dir)(read(dir))
      assert(read(dir).schema === schema)
    }
  }

  test("summary files stay as they are; checksum files of replaced data go") {
    withTableDir { dir =>
      shuffled(300, 3).write.option("parquet.summary.metadata.level", "ALL")
        .parquet(dir.getAbsolutePath)
      val summaries = Seq("_metadata", "_common_metadata", "_SUCCESS")
      for (other <- Seq(".hidden.parquet", "_underscore.parquet", ".gone.parquet.crc")) {
        Files.write(new File(dir, other).toPath, "no data".getBytes("UTF-8"))
      }
      val before = userFiles(dir)
      summaries.foreach(s => assert(before.contains(s), s))
      val data = dataFiles(dir).map(_.name).toSet
      optimize(s"OPTIMIZE '$dir' ZORDER BY (a, b)", dir)(read(dir))
      val after = userFiles(dir)
      val replaced = data ++ data.map(n => s".$n.crc")
      assert(replaced.subsetOf(before.keySet))
      // all that was there is there, byte for byte, but the replaced files
      assert(after.filter(f => before.contains(f._1)) === before -- replaced)
      withSQLConf(
        "spark.sql.parquet.mergeSchema" -> "true",
        "spark.sql.parquet.respectSummaryFiles" -> "true") {
        assert(read(dir).count() === 300)
      }
    }
  }

  test("a folder without a value: Spark cannot read such a table, and OPTIMIZE leaves it") {
    withTableDir { dir =>
      write(shuffled(100, 1), new File(dir, "p=1"))
      write(shuffled(100, 1), new File(dir, "p="))
      intercept[Throwable](read(dir).count())
      val before = snapshot(dir)
      intercept[Throwable](sql(s"OPTIMIZE '$dir' ZORDER BY (a, b)").collect())
      assert(snapshot(dir) === before)
    }
  }
}
