// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table.schema

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.parquet.schema.{MessageType, MessageTypeParser}

import org.apache.spark.sql.catalyst.util.ResolveDefaultColumns.EXISTS_DEFAULT_COLUMN_METADATA_KEY
import org.apache.spark.sql.types.{IntegerType, MetadataBuilder, StructType, TimestampType}

import io.sparkzorder.log.StateTestBase
import io.sparkzorder.table.DataFile
import io.sparkzorder.table.stats.ScannedFile

/** The Parquet schema of rewritten files, from the schemas of their inputs. */
class OutputSchemaSuite extends StateTestBase {

  private def message(fields: String): MessageType =
    MessageTypeParser.parseMessageType(s"message m { $fields }")

  private def footer(fields: String): ScannedFile = ScannedFile(
    DataFile.alone(new FileStatus(1, false, 1, 1, 1, new Path("/t/f"))),
    1L,
    1L,
    message(fields),
    Map.empty,
    Nil,
    Array.empty)

  private def output(
      ddl: String,
      preserveInt96: Boolean = false,
      allowTypeChange: Boolean = false)(inputs: String*): MessageType =
    new OutputSchema(preserveInt96, _ equalsIgnoreCase _, allowTypeChange)
      .of(StructType.fromDDL(ddl), inputs.map(footer))

  private val list = "optional group c (LIST) { repeated group list { optional int32 element; } }"
  private val hiveList =
    "optional group c (LIST) { repeated group bag { optional int32 array_element; } }"
  private val oldList = "optional group c (LIST) { repeated int32 array; }"
  private val map = "optional group c (MAP) { repeated group key_value " +
    "{ required binary key (STRING); optional int32 value; } }"
  private val hiveMap = "optional group c (MAP) { repeated group map " +
    "{ required binary key (STRING); optional int32 value; } }"

  private val default =
    new MetadataBuilder().putString(EXISTS_DEFAULT_COLUMN_METADATA_KEY, "x").build()

  // Spark type, inputs, fields of the output
  private val kept = Seq[(String, String, Seq[String], String)](
    ("one type", "c INT", Seq("required int32 c;"), "required int32 c;"),
    ("a field id", "c INT", Seq("optional int32 c = 7;"), "optional int32 c = 7;"),
    (
      "a small integer",
      "c TINYINT",
      Seq("optional int32 c (INTEGER(8,true));"),
      "optional int32 c (INTEGER(8,true));"),
    (
      "milliseconds",
      "c TIMESTAMP",
      Seq("optional int64 c (TIMESTAMP(MILLIS,true));"),
      "optional int64 c (TIMESTAMP(MILLIS,true));"),
    (
      "a decimal in bytes",
      "c DECIMAL(9,2)",
      Seq("optional fixed_len_byte_array(5) c (DECIMAL(9,2));"),
      "optional fixed_len_byte_array(5) c (DECIMAL(9,2));"),
    ("names inside a list", "c ARRAY<INT>", Seq(hiveList), hiveList),
    ("names inside a map", "c MAP<STRING, INT>", Seq(hiveMap), hiveMap),
    (
      "a nested field",
      "c STRUCT<x: INT>",
      Seq("optional group c { required int32 x; }"),
      "optional group c { required int32 x; }"))

  for ((what, ddl, inputs, expected) <- kept) test(s"kept as it is: $what") {
    assert(output(ddl)(inputs: _*) === message(expected))
  }

  private val changed = Seq[(String, String, Seq[String], String)](
    (
      "NULL stays writable where one file may have it",
      "c INT",
      Seq("required int32 c;", "optional int32 c;"),
      "optional int32 c;"),
    (
      "NULL stays writable where one file lacks the column",
      "c INT, d INT",
      Seq("required int32 c;", "required int32 c; required int32 d;"),
      "required int32 c; optional int32 d;"),
    (
      "field ids that disagree are dropped",
      "c INT",
      Seq("optional int32 c = 1;", "optional int32 c = 2;"),
      "optional int32 c;"),
    (
      "field ids of structs that disagree are dropped",
      "c STRUCT<x: INT>",
      Seq(
        "optional group c = 1 { optional int32 x = 3; }",
        "optional group c = 2 { optional int32 x = 3; }"),
      "optional group c { optional int32 x = 3; }"),
    (
      "widened integers",
      "c BIGINT",
      Seq("optional int32 c;", "optional int64 c;"),
      "optional int64 c;"),
    (
      "widened decimals",
      "c DECIMAL(18,2)",
      Seq("optional int32 c (DECIMAL(9,2));", "optional int64 c (DECIMAL(18,2));"),
      "optional int64 c (DECIMAL(18,2));"),
    (
      "unsigned integers",
      "c BIGINT",
      Seq("optional int32 c (INTEGER(32,false));"),
      "optional int64 c;"),
    (
      "INT96",
      "c TIMESTAMP",
      Seq("optional int96 c;"),
      "optional int64 c (TIMESTAMP(MICROS,true));"),
    (
      "spelling of the name as the table has it",
      "c INT",
      Seq("optional int32 C;"),
      "optional int32 c;"),
    (
      "names inside lists that disagree: those of the first file",
      "c ARRAY<INT>",
      Seq(hiveList, list),
      hiveList),
    (
      "a file without a column beside others",
      "c MAP<STRING, INT>",
      Seq("optional int32 x;", map),
      map))

  for ((what, ddl, inputs, expected) <- changed) test(s"changed: $what") {
    assert(output(ddl)(inputs: _*) === message(expected))
  }

  test("without inputs: what Spark writes") {
    assert(output("c INT, t TIMESTAMP")().getFields ===
      message("optional int32 c; optional int64 t (TIMESTAMP(MICROS,true));").getFields)
  }

  test("INT96 is kept when asked") {
    assert(output("c TIMESTAMP", preserveInt96 = true)("optional int96 c;") ===
      message("optional int96 c;"))
  }

  test("lists of two levels are refused, unless the type may change") {
    fails("ZORDER_TYPE_NOT_WRITABLE", "old layout", "/t/f")(output("c ARRAY<INT>")(oldList))
    assert(output("c ARRAY<INT>", allowTypeChange = true)(oldList) === message(list))
    assert(output("c ARRAY<INT>", allowTypeChange = true)(oldList, hiveList) === message(list))
  }

  test("beside a list of an old layout, everything inside of the others may be NULL") {
    def lists(repeated: String) = s"optional group c (LIST) { $repeated }"
    val inputs = Seq(
      lists("repeated group list { optional group element { required int32 a; } }"),
      lists("repeated group array { optional int32 a; }"))
    for (files <- Seq(inputs, inputs.reverse)) {
      assert(output("c ARRAY<STRUCT<a: INT>>", allowTypeChange = true)(files: _*) === message(
        lists("repeated group list { optional group element { optional int32 a; } }")))
    }
  }

  test("a column with a default takes the type of the default where a file lacks the column") {
    val schema = new StructType().add("x", IntegerType)
      .add("c", TimestampType, nullable = true, default)
    val millis = "optional int32 x; optional int64 c (TIMESTAMP(MILLIS,true));"
    val micros = "optional int32 x; optional int64 c (TIMESTAMP(MICROS,true));"
    def of(inputs: String*) =
      new OutputSchema(false, _ equalsIgnoreCase _, false).of(schema, inputs.map(footer))
    assert(of(millis) === message(millis))
    assert(of(millis, "optional int32 x;") === message(micros))
    assert(of("optional int32 x;", millis) === message(micros))
    val withId = "optional int32 x = 1; optional int64 c (TIMESTAMP(MILLIS,true)) = 2;"
    assert(of(withId, "optional int32 x = 1;") ===
      message("optional int32 x = 1; optional int64 c (TIMESTAMP(MICROS,true)) = 2;"))
  }

  test("so does a nested column with a default") {
    val schema = StructType.fromDDL("x INT, c STRUCT<t: TIMESTAMP, n: INT>, l ARRAY<INT>")
    val withDefaults =
      StructType(schema.map(f => if (f.name == "x") f else f.copy(metadata = default)))
    def fields(unit: String, n: String, element: String) =
      s"optional int32 x; optional group c { optional int64 t (TIMESTAMP($unit,true)) = 5; $n int32 n; } " +
        s"optional group l (LIST) { repeated group bag { $element int32 item; } }"
    val inputs = Seq(fields("MILLIS", "required", "required"), "optional int32 x;")
    for (files <- Seq(inputs, inputs.reverse)) {
      assert(new OutputSchema(false, _ equalsIgnoreCase _, false)
        .of(withDefaults, files.map(footer)) === message(fields("MICROS", "optional", "optional")))
    }
  }

  test("two columns with one field id are refused") {
    fails("ZORDER_TYPE_NOT_WRITABLE", "the field id 1", "column d")(
      output("c INT, d INT")("optional int32 c = 1;", "optional int32 d = 1;"))
    fails("ZORDER_TYPE_NOT_WRITABLE", "the field id 1", "column d")(
      output("s STRUCT<c: INT, d: INT>")(
        "optional group s { optional int32 c = 1; }",
        "optional group s { optional int32 d = 1; }"))
  }
}
