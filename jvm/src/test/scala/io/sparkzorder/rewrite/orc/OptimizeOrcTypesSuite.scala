// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite.orc

import java.io.File
import java.nio.charset.StandardCharsets.UTF_8

import scala.collection.JavaConverters._
import scala.util.Random

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.orc.{CompressionKind, TypeDescription}
import org.scalatest.tagobjects.Slow

import io.sparkzorder.RandomInputs
import io.sparkzorder.commands.OrcTables

/** OPTIMIZE of tables of ORC files keeps values of every type, schemas and footers. */
class OptimizeOrcTypesSuite extends OrcTables with RandomInputs {

  override protected def codegen: Boolean = true

  /** Columns of every type with values that are easily lost: an expression of `id` for each. */
  private def columnsOf(random: Random): Seq[(String, String)] = {
    val seed = random.nextInt(1000)
    def hash(i: Int) = s"xxhash64(id, ${seed + i})"
    def nth(i: Int, values: String*) = s"element_at(array(${values.mkString(", ")}), " +
      s"cast(pmod(${hash(i)}, ${values.size}) AS INT) + 1)"
    Seq(
      "bool" -> s"${hash(1)} > 0",
      "tiny" -> s"cast(pmod(${hash(2)}, 256) - 128 AS TINYINT)",
      "small" -> s"cast(pmod(${hash(3)}, 65536) - 32768 AS SMALLINT)",
      "i" -> s"hash(id, $seed)",
      "big" -> hash(4),
      "fl" -> nth(5, "float('NaN')", "float('-0.0')", "0F", "float('Infinity')", "1.5F", "-3e38F"),
      "dbl" -> nth(6, "double('NaN')", "-0.0D", "0.0D", "double('-Infinity')", "id / 7D", "1e300D"),
      "dec9" -> s"cast(pmod(${hash(7)}, 2000000) - 1000000 AS DECIMAL(9, 2)) / 1",
      "dec18" -> s"cast(${hash(8)} / 1000 AS DECIMAL(18, 1))",
      "dec38" -> s"cast(${hash(9)} AS DECIMAL(38, 10)) * 1000000000",
      "s" -> nth(10, "''", "'ä€😀'", "concat('k', id)", "repeat('long', 600)", "'z'"),
      "bin" -> s"cast(concat('b', ${hash(11)}) AS BINARY)",
      "day" -> s"date_add(date'1400-01-01', cast(pmod(${hash(12)}, 300000) AS INT))",
      "ts" -> s"timestamp_micros(pmod(${hash(13)}, 12000000000000000L) - 6000000000000000L)",
      "ntz" -> s"cast(timestamp_micros(pmod(${hash(14)}, 2000000000000000L)) AS TIMESTAMP_NTZ)",
      "ym" -> s"make_ym_interval(cast(pmod(${hash(15)}, 100) AS INT), 3)",
      "dt" -> s"make_dt_interval(cast(pmod(${hash(16)}, 100) AS INT), 3, 4, 5.678901)",
      "st" -> s"if(${hash(17)} > 0, named_struct('x', ${hash(18)}, 'y', concat('y', id)), NULL)",
      "arr" -> s"if(${hash(19)} > 0, array(id, NULL, ${hash(20)}), array())",
      "m" -> s"map(concat('k', id), ${hash(21)}, 'a', NULL)",
      "deep" -> s"array(named_struct('q', array(map(id, array('u', NULL)))))")
  }

  /** The columns with NULL in about a sixth of the rows each, or everywhere now and then. */
  private def randomRows(random: Random, rows: Int, files: Int) = {
    val columns = columnsOf(random).map { case (name, e) =>
      val one = if (random.nextInt(12) == 0) 1 else 6
      s"if(pmod(hash(id, '$name'), $one) = 0, NULL, $e) AS $name"
    }
    spark.range(0, rows.toLong, 1, files).selectExpr("id" +: columns: _*)
  }

  // those with min/max in ORC
  private val orderable = Seq(
    "id",
    "bool",
    "tiny",
    "small",
    "i",
    "big",
    "fl",
    "dbl",
    "dec9",
    "dec18",
    "dec38",
    "s",
    "day",
    "ts",
    "ntz",
    "ym",
    "dt",
    "st.x",
    "st.y")

  test("random rows of every type keep every value; null counts and values are verified", Slow) {
    withRandom { random =>
      for (round <- 1 to 6) {
        val seed = random.nextLong()
        val own = new Random(seed)
        withClue(s"round $round, seed $seed: ")(withTableDir { dir =>
          val (rows, files) = (200 + own.nextInt(1500), 1 + own.nextInt(6))
          val codec = Seq("zstd", "zlib", "snappy", "none", "lz4")(own.nextInt(5))
          withSQLConf("spark.sql.orc.compression.codec" -> codec) {
            write(randomRows(own, rows, files), dir)
          }
          val columns = own.shuffle(orderable).take(1 + own.nextInt(3))
          val verify = if (own.nextBoolean()) "full" else "footer"
          val types = withOrc(orcFiles(dir).head)(_.getSchema)
          withSQLConf("spark.sql.orc.compression.codec" -> "zlib") {
            // ORC's reader takes a batch of zeros alone for one value, whatever their signs
            optimize(
              s"OPTIMIZE orc.`$dir` " +
                s"ZORDER BY (${columns.mkString(", ")}) OPTIONS (${sizeFor(dir, 5)}, 'verify' '$verify')",
              dir)(read(dir).selectExpr("*", "dbl + 0D", "fl + 0F").drop("dbl", "fl"))
          }
          orcFiles(dir).foreach(withOrc(_) { r =>
            assert(r.getSchema === types)
            assert(r.getCompressionKind === CompressionKind.valueOf(codec.toUpperCase))
          })
          info(s"seed $seed: $rows rows of $files files, $codec, by $columns, verify $verify: " +
            s"${dataFiles(dir).size} files")
        })
      }
    }
  }

  /** The ids of the columns with a Bloom filter, for each different file. */
  private def filtersOf(dir: File): Set[Seq[Int]] = orcFiles(dir).map { f =>
    var ids = Seq.empty[Int]
    withOrc(f) { r =>
      val rows = r.rows().asInstanceOf[org.apache.orc.impl.RecordReaderImpl]
      val index = rows.readRowIndex(0, null, Array.fill(r.getSchema.getMaximumId + 1)(true))
      rows.close()
      ids = index.getBloomFilterIndex.toSeq.zipWithIndex.filter(_._1 != null).map(_._2)
    }
    ids
  }.toSet

  test("Bloom filters of the inputs: the new files have them, or reason names the columns") {
    withTableDir { dir =>
      spark.range(600).selectExpr("id", "named_struct('f', id % 7) s", "id * 0.5D x").repartition(3)
        .write.option("orc.bloom.filter.columns", "id,s.f,x").orc(dir.getPath)
      assert(filtersOf(dir) === Set(Seq(1, 3, 4)))
      val result = sql(s"OPTIMIZE orc.`$dir` ZORDER BY (id)").head()
      assert(filtersOf(dir) === Set(Seq(1, 3)))
      assert(result.getAs[String]("reason").contains("have no Bloom filter of `x`"))
    }
  }

  test(
    "a table of the catalog: columns that came later, defaults, CHAR and VARCHAR, Bloom filters") {
    withTable("t") {
      sql("CREATE TABLE t (a INT, c CHAR(4), v VARCHAR(9)) USING orc " +
        "OPTIONS ('orc.bloom.filter.columns' 'a')")
      sql("INSERT INTO t SELECT id % 70, 'ab', concat('v', id % 30) FROM range(0, 900, 1, 4)")
      sql("ALTER TABLE t ADD COLUMN d INT DEFAULT 7")
      sql("ALTER TABLE t ADD COLUMN e STRING")
      sql("INSERT INTO t SELECT id, 'xyz', NULL, id % 5, 'e' FROM range(0, 300, 1, 2)")
      val dir = locationOf("t")
      optimize(s"OPTIMIZE t ZORDER BY (a, v) OPTIONS (${sizeFor(dir, 3)})", dir)(spark.table("t"))
      assert(sql("SELECT count(*) FROM t WHERE d = 7").head().getLong(0) === 900)
      assert(sql("SELECT count(*) FROM t WHERE c = 'ab'").head().getLong(0) === 900)
      assert(filtersOf(dir) === Set(Seq(1)))
    }
  }

  test("widened columns: files of narrower types become one of the widest") {
    withTableDir { dir =>
      write(spark.range(50).selectExpr("cast(id AS INT) i", "cast(id AS FLOAT) f"), dir)
      write(spark.range(50).selectExpr("id + 5000000000 i", "id / 3D f"), dir)
      val schema = "i BIGINT, f DOUBLE"
      val expected = bag(spark.read.schema(schema).orc(dir.getPath))
      sql(s"OPTIMIZE orc.`$dir` ZORDER BY (i, f)").collect()
      assert(dataFiles(dir).size === 1)
      assert(bag(read(dir)) === expected)
    }
    withTableDir { dir =>
      write(spark.range(5).selectExpr("id i"), dir)
      write(spark.range(5).selectExpr("cast(id AS STRING) i"), dir)
      val tree = userFiles(dir)
      fails("ZORDER_INCOMPATIBLE_SCHEMAS", "`i`")(sql(s"OPTIMIZE orc.`$dir` ZORDER BY (i)"))
      assert(userFiles(dir) === tree)
    }
  }

  test("what the footers of the inputs have is kept: metadata of others, never Spark's of old") {
    withTableDir { dir =>
      val bytes = Array[Byte](0, 127, -128, -1)
      val schema = "struct<a:bigint,l:array<int>,c:char(3)>"
      for (i <- 0 to 1) {
        val metadata =
          Map("theirs" -> bytes, "differs" -> Array[Byte](i.toByte), s"only$i" -> bytes)
        def named(t: TypeDescription, name: String) = {
          val _ = t.setAttribute(name, "7")
        }
        foreign(
          dir,
          s"x$i.orc",
          schema,
          metadata = metadata,
          change = t => {
            named(t, "root")
            named(t.findSubtype("l"), "list")
            named(t.findSubtype("c"), s"only$i")
          })(b => {
          longs(b, 0)
          b.cols.drop(1).foreach { c =>
            c.noNulls = false
            java.util.Arrays.fill(c.isNull, true)
          }
        })
      }
      optimizeOrc(dir, "ZORDER BY (a)")
      withOrc(orcFiles(dir).head) { r =>
        assert(orcFiles(dir).size === 1)
        assert(r.getMetadataKeys.asScala.toSet === Set("org.apache.spark.version", "theirs"))
        val kept = new Array[Byte](4)
        r.getMetadataValue("theirs").get(kept)
        assert(kept === bytes)
        assert(r.getSchema.toString === schema)
        assert(r.getSchema.getAttributeValue("root") === "7")
        assert(r.getSchema.findSubtype("l").getAttributeValue("list") === "7")
        assert(r.getSchema.findSubtype("c").getAttributeNames.isEmpty)
      }
    }
    withTableDir { dir =>
      write(shuffled(500, 3), dir)
      optimizeOrc(dir, "ZORDER BY (a)")
      withOrc(orcFiles(dir).head) { r =>
        val keys = r.getMetadataKeys.asScala
        assert(keys === Seq("org.apache.spark.version"))
      }
    }
  }

  test("keys whose form is known are joined, as in Parquet") {
    withTableDir { dir =>
      def pandas(name: String, stop: Int): Array[Byte] =
        s"""{"index_columns": [{"kind": "range", "name": $name, "start": 0, "stop": $stop, "step": 1}],
          |"columns": [{"name": "größe", "field_name": "gr\\u00f6\\u00dfe", "metadata": null}]}"""
          .stripMargin.getBytes(UTF_8)
      def file(name: String, metadata: (String, Array[Byte])*): Unit =
        foreign(dir, name, "struct<a:bigint>", metadata = metadata.toMap)(longs(_, 0))
      file("a.orc", "pandas" -> pandas("null", 3), "run" -> Array[Byte](1))
      file("b.orc", "pandas" -> pandas("null", 4), "run" -> Array[Byte](2))
      val reason = optimizeOrc(dir, "ZORDER BY (a)").getAs[String]("reason")
      assert(reason.contains("RangeIndex") && reason.contains("`run`"))
      withOrc(orcFiles(dir).head) { r =>
        val kept = r.getMetadataValue("pandas")
        val json = new ObjectMapper().readTree(UTF_8.decode(kept).toString)
        assert(json.get("index_columns").size === 0)
        assert(json.at("/columns/0/name").asText === "größe")
        assert(json.at("/columns/0/field_name").asText === "größe")
      }
      file("c.orc", "pandas" -> pandas("\"key\"", 3))
      val before = snapshot(dir)
      fails("ZORDER_FOOTER_HOLDS_DATA", "c.orc", "named `key`")(
        sql(s"OPTIMIZE orc.`${dir.getAbsolutePath}` FULL ZORDER BY (a)").collect())
      assert(snapshot(dir) === before)
    }
  }
}
