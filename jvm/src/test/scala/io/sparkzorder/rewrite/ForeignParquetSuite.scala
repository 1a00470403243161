// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite

import java.io.File

import scala.collection.JavaConverters._
import scala.util.Try

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.example.data.Group
import org.apache.parquet.example.data.simple.SimpleGroupFactory
import org.apache.parquet.hadoop.example.ExampleParquetWriter
import org.apache.parquet.schema.MessageTypeParser

import io.sparkzorder.commands.OptimizeTestBase

/** Parquet files of other writers, of which Spark's own writer would change what readers see. */
class ForeignParquetSuite extends OptimizeTestBase {
  private val millis = 1700000000000L

  /** Writes two files of 40 rows each; each row has its number as `id`. */
  private def files(dir: File, columns: String, keys: (String, String)*)(
      fill: (Group, Int) => Unit): Unit =
    for (i <- 0 to 1) file(dir, s"$i.parquet", columns, keys: _*)(fill)

  private def file(dir: File, name: String, columns: String, keys: (String, String)*)(
      fill: (Group, Int) => Unit): Unit = {
    val schema = MessageTypeParser.parseMessageType(s"message m { required int32 id; $columns }")
    val writer = ExampleParquetWriter.builder(new Path(null, null, s"$dir/$name"))
      .withConf(new Configuration()).withType(schema).withExtraMetaData(keys.toMap.asJava).build()
    try {
      for (i <- 0 until 40) {
        val group = new SimpleGroupFactory(schema).newGroup().append("id", i)
        fill(group, i)
        writer.write(group)
      }
    } finally writer.close()
  }

  /** Spark's schema, as a program may have copied it into the footer of a file with other types. */
  private def sparkSchema(fields: (String, String)*): (String, String) = {
    val all = ("id" -> "\"integer\"") +: fields
    "org.apache.spark.sql.parquet.row.metadata" -> all.map { case (name, kind) =>
      s"""{"name":"$name","type":$kind,"nullable":true,"metadata":{}}"""
    }.mkString("""{"type":"struct","fields":[""", ",", "]}")
  }

  private def footers(dir: File) = dataFiles(dir).map(f => parquetFooter(new File(dir, f.name))._1)

  private def typesOf(dir: File): Set[String] =
    footers(dir).map(_.getFileMetaData.getSchema.toString).toSet

  private def keysOf(dir: File, key: String): Set[Option[String]] =
    footers(dir).map(f => Option(f.getFileMetaData.getKeyValueMetaData.get(key))).toSet

  private def reason(dir: File, options: String = ""): String =
    String.valueOf(optimize(s"OPTIMIZE '$dir' FULL ZORDER BY (id) $options", dir)(read(dir))
      .getAs[String]("reason"))

  test("a BIGINT of Spark that the file calls a timestamp is copied as it is") {
    withTableDir { dir =>
      val time = "(TIMESTAMP(MILLIS,true))"
      files(
        dir,
        s"""optional int64 t $time; optional group s { optional int64 x $time; }
          |optional group l (LIST) { repeated group list { optional int64 element $time; } }
          |optional group m (MAP) { repeated group key_value {
          |  required int64 key $time; optional int64 value $time; } }""".stripMargin,
        sparkSchema(
          "t" -> "\"long\"",
          "s" -> """{"type":"struct","fields":[{"name":"x","type":"long","nullable":true,"metadata":{}}]}""",
          "l" -> """{"type":"array","elementType":"long","containsNull":true}""",
          "m" -> ("""{"type":"map","keyType":"long","valueType":"long",""" +
            """"valueContainsNull":true}"""))) { (row, i) =>
        row.append("t", millis + i)
        row.addGroup("s").append("x", millis + i)
        val list = row.addGroup("l")
        for (k <- 0 to 2) list.addGroup("list").append("element", millis + i + k)
        row.addGroup("m").addGroup("key_value").append(
          "key",
          millis + i).append("value", millis - i)
      }
      assert(read(dir).where(s"l[1] = $millis + 1 AND m[$millis] = $millis").count() === 2)
      val types = typesOf(dir)
      assert(reason(dir, "OPTIONS ('verify' 'full')") === "null")
      assert(typesOf(dir) === types)
      assert(read(dir).where(
        s"t = $millis + id AND s.x = t AND l[2] = t + 2 AND m[t] = $millis - id").count() === 80)
    }
  }

  private val optionalKeys = "optional group m (MAP) { repeated group key_value " +
    "{ optional int32 key; optional int32 value; } }"

  test("a NULL key of a map is refused, wherever the map is") {
    val within = s"optional group s { optional group l (LIST) { repeated group list { " +
      s"${optionalKeys.replace(" m (MAP)", " element (MAP)")} } } }"
    for ((columns, name) <- Seq(optionalKeys -> "`m`", within -> "`s.l.list.element`")) {
      withTableDir { dir =>
        def fill(file: Int)(row: Group, i: Int): Unit = {
          val map =
            if (name == "`m`") row.addGroup("m")
            else row.addGroup("s").addGroup("l").addGroup("list").addGroup("element")
          map.addGroup("key_value").append("key", 5).append("value", i)
          if (i == 30 && file == 1) map.addGroup("key_value").append("value", 7)
        }
        for (i <- 0 to 1) file(dir, s"$i.parquet", columns)(fill(i))
        val before = snapshot(dir)
        for (end <- Seq("", s" INTO '$dir.copy'", " DRY RUN")) {
          fails("ZORDER_TYPE_NOT_READABLE", name, "NULL key", "1.parquet")(
            sql(s"OPTIMIZE '$dir' ZORDER BY id$end"))
          assert(snapshot(dir) === before)
          assert(!new File(s"$dir.copy").exists())
        }
      }
    }
  }

  test("keys that may be NULL and are not") {
    withTableDir { dir =>
      files(dir, optionalKeys) { (row, i) =>
        if (i % 3 > 0) row.addGroup("m").addGroup("key_value").append("key", i)
      }
      assert(reason(dir) === "null")
      assert(read(dir).where("map_keys(m)[0] = id").count() === 52)
    }
  }

  test("a type that Spark does not know is refused with its column and its file") {
    val time = "optional int64 t (TIME(MICROS,true));"
    // Parquet has these types since its version 1.16
    val shape = "optional group s { optional binary g (GEOMETRY(OGC:CRS84)); }"
    val known = Try(MessageTypeParser.parseMessageType(s"message m { $shape }")).isSuccess
    val columns = (time -> "`t`") +: Seq(shape -> "`s.g`").filter(_ => known)
    for ((column, name) <- columns; setting <- Seq("true", "false")) withTableDir { dir =>
      files(dir, column)((_, _) => ())
      withSQLConf("spark.sql.timeType.enabled" -> setting) {
        fails("ZORDER_TYPE_NOT_READABLE", name, ".parquet")(sql(s"OPTIMIZE '$dir' ZORDER BY id"))
      }
    }
  }

  private val hiveKey = "writer.date.proleptic"

  // 0001-01-01 of the hybrid calendar, which is 0000-12-30 of the proleptic one
  private val hybridDay = -719164

  private def days(dir: File, keys: (String, String)*): Unit =
    files(dir, "optional int32 d (DATE);", keys: _*)((row, _) => row.append("d", hybridDay))

  private def storedDays(dir: File): Set[Any] =
    footers(dir).map(_.getBlocks.get(0).getColumns.get(1).getStatistics.genericGetMin).toSet

  test("Hive's key of the calendar fits the days of the new files") {
    // how the session reads files that name no calendar, the value of the inputs, day and value of the new files
    for ((mode, value, day, now) <- Seq(
        ("LEGACY", Some("false"), hybridDay + 2, Some("true")),
        ("LEGACY", None, hybridDay + 2, Some("true")),
        ("CORRECTED", Some("false"), hybridDay, Some("false")),
        ("CORRECTED", Some("true"), hybridDay, Some("true")),
        ("CORRECTED", None, hybridDay, None))) withTableDir { dir =>
      withSQLConf("spark.sql.parquet.datetimeRebaseModeInRead" -> mode) {
        days(dir, value.map(hiveKey -> _).toSeq: _*)
        val said = reason(dir)
        assert(storedDays(dir) === Set[Any](day), s"$mode $value")
        assert(keysOf(dir, hiveKey) === Set(now), s"$mode $value")
        assert(said.contains("before 1582") === (mode == "LEGACY"), s"$mode $value: $said")
      }
    }
  }

  test("days of Spark's legacy mode: the reason says that the stored days change") {
    withTableDir { dir =>
      withSQLConf("spark.sql.parquet.datetimeRebaseModeInWrite" -> "LEGACY") {
        write(spark.range(0, 40, 1, 2).selectExpr("int(id) id", "DATE '0001-01-01' d"), dir)
      }
      assert(storedDays(dir) === Set[Any](hybridDay))
      assert(reason(dir).contains("are stored in the new calendar"))
      assert(storedDays(dir) === Set[Any](hybridDay + 2))
      assert(keysOf(dir, hiveKey) === Set(Some("true")))
      assert(reason(dir) === "null")
    }
  }

  test("a type that means something else to other readers is named") {
    withTableDir { dir =>
      val texts = Seq("JSON", "STRING")
      for ((text, i) <- texts.zipWithIndex) {
        file(
          dir,
          s"$i.parquet",
          s"""optional binary v ($text); optional group l (LIST) { repeated group list {
            |  optional binary element ($text); } }""".stripMargin) { (row, k) =>
          row.append("v", s"$k")
          row.addGroup("l").addGroup("list").append("element", s"$k")
        }
      }
      val said = reason(dir)
      for (column <- Seq("`v`", "`l.list.element`")) {
        assert(
          said.contains(s"$column is STRING in the new files, and JSON in files such as 0.parquet"))
      }
      assert(reason(dir) === "null")
    }
    withTableDir { dir =>
      withSQLConf("spark.sql.parquet.outputTimestampType" -> "INT96") {
        write(
          spark.range(0, 40, 1, 2)
            .selectExpr("int(id) id", "timestamp_seconds(id) t", "array(timestamp_seconds(id)) l"),
          dir)
      }
      assert(reason(dir, "OPTIONS ('timestampType' 'preserve')") === "null")
      val said = reason(dir)
      for (word <- Seq("INT96 becomes TIMESTAMP(MICROS)", "`t`", "`l.", "preserve")) {
        assert(said.contains(word), said)
      }
      assert(reason(dir) === "null")
    }
  }

  test("the default of a TIMESTAMP column is read in the zone of each session") {
    withTable("t") {
      sql("CREATE TABLE t (id BIGINT) USING parquet")
      spark.range(0, 40, 1, 2).write.insertInto("t")
      sql("ALTER TABLE t ADD COLUMNS (n TIMESTAMP, ts TIMESTAMP DEFAULT TIMESTAMP'2020-01-01 00:00:00')")
      sql("INSERT INTO t SELECT id, now(), TIMESTAMP'2020-01-01 00:00:00' FROM range(5)")
      val said = inConf("spark.sql.session.timeZone" -> "America/Los_Angeles") {
        sql("OPTIMIZE t ZORDER BY (id)").head().getAs[String]("reason")
      }
      for (word <- Seq("the default of the column `ts`", "the zone America/Los_Angeles")) {
        assert(said.contains(word), said)
      }
      assert(!said.contains("the column `n`"), said)
    }
  }

  test("structs of which all files lack a field that the catalog has are named") {
    withTable("t") {
      sql("CREATE TABLE t (id BIGINT, s STRUCT<x: INT>, u STRUCT<x: INT>) USING parquet")
      sql("INSERT INTO t SELECT /*+ REPARTITION(2) */ id, struct(int(id)), struct(int(id)) FROM range(40)")
      val dir = new File(new java.net.URI(spark.sessionState.catalog.getTableMetadata(
        org.apache.spark.sql.catalyst.TableIdentifier("t")).location.toString))
      sql("DROP TABLE IF EXISTS wider")
      withTable("wider") {
        sql("CREATE TABLE wider (id BIGINT, s STRUCT<x: INT, y: INT>, u STRUCT<x: INT>) USING parquet " +
          s"LOCATION '$dir'")
        val said = sql("OPTIMIZE wider ZORDER BY (id)").head().getAs[String]("reason")
        assert(said.contains("lack fields of the struct `s`") && !said.contains("`u`"), said)
      }
    }
  }

  test("TIMESTAMP in the catalog over times without a zone: the message names the directory") {
    withTable("t") {
      withTableDir { dir =>
        file(dir, "0.parquet", "optional int64 ts (TIMESTAMP(MICROS,false));") { (row, k) =>
          row.append("ts", k * 1000000L)
        }
        sql(s"CREATE TABLE t (ts TIMESTAMP) USING parquet LOCATION '$dir'")
        val rows = sql("SELECT * FROM t").collect().map(_.toString).sorted
        fails("ZORDER_INCOMPATIBLE_SCHEMAS", "name the directory of the table") {
          sql("OPTIMIZE t ZORDER BY (ts)").collect()
        }
        sql(s"OPTIMIZE '$dir' ZORDER BY (ts)").collect()
        assert(sql("SELECT * FROM t").collect().map(_.toString).sorted === rows)
      }
    }
  }
}
