// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.write

import java.io.File

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.HadoopReadOptions
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.parquet.io.api.Binary
import org.apache.parquet.schema.MessageTypeParser
import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.expr

import io.sparkzorder.commands.OptimizeTestBase

/** Which columns of rewritten Parquet files have a Bloom filter, and what the filters answer. */
class BloomFiltersSuite extends OptimizeTestBase {

  /** A Bloom filter that some row group of a table has. */
  private case class Filter(column: String, bytes: Int, rows: Long, mayHold: Any => Boolean)

  private def filters(dir: File): Seq[Filter] = {
    val conf = spark.sessionState.newHadoopConf()
    dataFiles(dir).flatMap { f =>
      val path = new Path(null, null, s"$dir/${f.folder}/${f.name}")
      val reader = ParquetFileReader.open(
        HadoopInputFile.fromPath(path, conf),
        HadoopReadOptions.builder(conf).build())
      try reader.getFooter.getBlocks.asScala.toList.flatMap { block =>
          val answers = reader.getBloomFilterDataReader(block)
          block.getColumns.asScala.flatMap(c =>
            Option(answers.readBloomFilter(c)).map(c -> _)).map {
            case (c, filter) =>
              Filter(
                c.getPath.toDotString,
                filter.getBitsetSize,
                block.getRowCount,
                v =>
                  filter.findHash(v match {
                    case s: String => filter.hash(Binary.fromString(s))
                    case l: Long => filter.hash(l)
                  }))
          }
        }
      finally reader.close()
    }
  }

  private def rows(n: Int): DataFrame = spark.range(0, n, 1, 3).selectExpr(
    "id",
    "id * 7919 AS key",
    "named_struct('name', concat('n', id)) AS s",
    "concat('n', id % 50) AS few",
    "CAST(id AS DOUBLE) AS d",
    "id % 2 = 0 AS b",
    "id + 1 AS `a.b`")

  private def writeWith(df: DataFrame, dir: File, columns: String*): Unit = {
    val options = columns.map(c => s"parquet.bloom.filter.enabled#$c" -> "true").toMap ++
      columns.map(c => s"parquet.bloom.filter.expected.ndv#$c" -> "10000")
    df.write.mode("append").options(options).parquet(dir.getAbsolutePath)
  }

  private def reasonOf(statement: String, dir: File): String =
    String.valueOf(optimize(statement, dir)(read(dir)).getAs[String]("reason"))

  for ((n, tags) <- Seq(6000 -> Nil, 30000 -> Seq(Slow))) test(
    s"columns that had a Bloom filter have one again, which answers as it should: $n rows",
    tags: _*) {
    withTableDir { dir =>
      writeWith(rows(n), dir, "key", "s.name", "few", "d")
      write(rows(n / 4).withColumn("id", expr("id + 1000000")), dir)
      assert(filters(dir).map(_.column).toSet === Set("key", "s.name", "d"))
      val reason =
        reasonOf(s"OPTIMIZE '$dir' ZORDER BY (id) OPTIONS ('targetFileSize' '${n / 100}k')", dir)
      assert(reason.contains("no Bloom filter of `d`"))
      val made = filters(dir)
      assert(made.map(_.column).toSet === Set("key", "s.name"))
      assert(dataFiles(dir).size > 1)
      made.groupBy(_.column).foreach { case (column, own) =>
        assert(own.map(_.rows).sum === n + n / 4, column)
        def valueOf(i: Long): Any = if (column == "key") i * 7919 else s"n$i"
        (0L until n.toLong).foreach(i => assert(own.exists(_.mayHold(valueOf(i)))))
        own.foreach { f =>
          val wrong = (1L to 10000L).count(i => f.mayHold(valueOf(-i)))
          assert(wrong < 250, s"$column: $wrong of 10000")
          assert(f.bytes <= math.max(1024L, 4 * f.rows), column)
        }
      }
      assert(read(dir).where("key = 7919 * 31").count() === 2)
    }
  }

  test("no Bloom filter hides -0.0: floating-point columns get none, and BOOLEAN neither") {
    withTempDir { base =>
      def signed(first: Int): DataFrame = spark.range(first, first + 5000, 1, 1).selectExpr(
        "id",
        "IF(id = 0, CAST('-0.0' AS DOUBLE), CAST(id AS DOUBLE)) AS d",
        "id % 2 = 0 AS b")
      val dir = new File(base.getCanonicalFile, "t")
      writeWith(signed(10000), dir, "d", "b", "id")
      write(signed(0), dir)
      assert(read(dir).where("d = 0.0").count() === 1)
      val reason = reasonOf(s"OPTIMIZE '$dir' ZORDER BY (id)", dir)
      assert(reason.contains("no Bloom filter of `d`, `b`"))
      assert(filters(dir).map(_.column).toSet === Set("id"))
      assert(read(dir).where("d = 0.0").count() === 1)
      // a setting for all columns switches no filter of a floating-point column on
      withTable("t") {
        sql(s"CREATE TABLE t USING parquet LOCATION '${dir.toURI}'")
        sql("ALTER TABLE t SET TBLPROPERTIES ('parquet.bloom.filter.enabled' = 'true')")
        sql("OPTIMIZE t FULL ZORDER BY (id)")
        assert(filters(dir).map(_.column).toSet === Set("id"))
        assert(spark.table("t").where("d = 0.0").count() === 1)
      }
      // what would be with one: if Parquet mends this, such columns may have their filters again
      val wrong = new File(base.getCanonicalFile, "wrong")
      writeWith(signed(0), wrong, "d")
      assert(read(wrong).where("d = 0.0").count() === 0)
    }
  }

  test("the table's own settings are those of the new files") {
    for (place <- Seq("TBLPROPERTIES", "OPTIONS")) withTable("t") {
      sql(s"""CREATE TABLE t (id BIGINT, key BIGINT, b BOOLEAN) USING parquet $place (
        |'parquet.bloom.filter.enabled#key' = 'true', 'parquet.bloom.filter.expected.ndv#key' = '1000',
        |'parquet.bloom.filter.enabled' = 'false')""".stripMargin.replace("\n", " "))
      rows(5000).select("id", "key", "b").repartition(3).write.mode("append").insertInto("t")
      val dir = locationOf("t")
      sql("OPTIMIZE t ZORDER BY (id)")
      assert(filters(dir).map(f => f.column -> f.bytes) === Seq("key" -> 2048), place)
      sql("ALTER TABLE t SET TBLPROPERTIES ('parquet.bloom.filter.enabled' = 'true')")
      if (place == "TBLPROPERTIES") {
        sql("OPTIMIZE t FULL ZORDER BY (id)")
        assert(filters(dir).map(_.column).toSet === Set("key", "id"))
        assert(spark.table("t").where("b").count() === 2500)
      }
    }
  }

  test("a copy has them too; a setting of the table takes one away") {
    withTempDir { base =>
      val (dir, copy) = (new File(base.getCanonicalFile, "t"), new File(base.getCanonicalFile, "c"))
      writeWith(rows(5000), dir, "key", "`a.b`", "a.b")
      val reason =
        sql(s"OPTIMIZE '$dir' ZORDER BY (id) INTO '$copy'").head().getAs[String]("reason")
      assert(filters(copy).map(_.column) === Seq("key"))
      assert(copy.exists && reason == null)
      withTable("t") {
        sql(s"CREATE TABLE t USING parquet LOCATION '${dir.toURI}'")
        sql("ALTER TABLE t SET TBLPROPERTIES ('parquet.bloom.filter.enabled#key' = 'false')")
        sql("OPTIMIZE t ZORDER BY (id)")
        assert(filters(dir).isEmpty)
      }
    }
  }

  test("many filters of many rows share the memory of a row group") {
    def most(filters: BloomFilters, rows: Int): Int = {
      val conf = new Configuration(false)
      filters.enable(conf)
      assert(
        (conf.get("parquet.bloom.filter.adaptive.enabled") == "true") === filters.settings.nonEmpty)
      BloomFilters.limitBytes(FileUnits(20000, rows, 128L << 20, 20000), conf)
      conf.getInt("parquet.bloom.filter.max.bytes", -1)
    }
    def of(n: Int): BloomFilters = BloomFilters.of(
      MessageTypeParser.parseMessageType(
        (1 to n).map(i => s"optional int64 c$i;").mkString("message m { ", " ", " }")),
      (1 to n).map(i => Seq(s"C$i")).toSet,
      Map.empty)
    assert(most(of(1), 10) === 1024)
    assert(most(of(1), 10000000) === (16 << 20))
    assert(most(of(8), 10000000) === (4 << 20))
    assert(most(of(1000), 10000000) === (1 << 20))
    val ofTable = Map("parquet.bloom.filter.max.bytes" -> "77")
    assert(most(of(1).copy(settings = ofTable), 10000) === 77)
    assert(most(
      BloomFilters.of(MessageTypeParser.parseMessageType("message m { }"), Set.empty, Map.empty),
      9) === -1)
  }
}
