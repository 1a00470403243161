// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table.schema

import java.io.ByteArrayOutputStream
import java.nio.{ByteBuffer, ByteOrder}
import java.nio.channels.Channels
import java.util.{Base64, Collections}

import scala.collection.JavaConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import com.google.flatbuffers.FlatBufferBuilder
import org.apache.arrow.flatbuf.{
  DictionaryEncoding => FlatEncoding,
  Field => FlatField,
  FloatingPoint => FlatFloatingPoint,
  Int => FlatInt,
  KeyValue,
  Message,
  MessageHeader,
  MetadataVersion,
  Schema => FlatSchema,
  Type => FlatType,
  Utf8 => FlatUtf8
}
import org.apache.arrow.vector.ipc.WriteChannel
import org.apache.arrow.vector.ipc.message.MessageSerializer
import org.apache.arrow.vector.types.pojo.{ArrowType, DictionaryEncoding, Field, FieldType, Schema}
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.parquet.schema.MessageTypeParser
import org.scalatest.funsuite.AnyFunSuite

import io.sparkzorder.errors.ZOrderException
import io.sparkzorder.table.DataFile
import io.sparkzorder.table.stats.{ColumnStats, ScannedFile}

/** What becomes of the keys in footers that differ from file to file. */
class FooterKeysSuite extends AnyFunSuite {
  private val schema = MessageTypeParser.parseMessageType("message m { optional int64 id; }")

  private def file(i: Int, keys: (String, String)*): ScannedFile = {
    val status = new FileStatus(1L, false, 1, 1L, 1L, new Path(s"/t/$i.parquet"))
    ScannedFile(DataFile.alone(status), 10L, 1L, schema, keys.toMap, Nil, Array.empty[ColumnStats])
  }

  private def merge(files: ScannedFile*): KeptKeys =
    new FooterKeys(mayLose = false, _ => false).merge(files, haveNewSchema = true)

  private def lossy(files: ScannedFile*): KeptKeys =
    new FooterKeys(mayLose = true, _ => false).merge(files, haveNewSchema = true)

  private def refusal(files: ScannedFile*): String = {
    val e = intercept[ZOrderException](merge(files: _*))
    assert(e.getMessage.contains("ZORDER_FOOTER_HOLDS_DATA"))
    e.getMessage
  }

  private def pandas(range: String, more: String = ""): String =
    s"""{"index_columns": [{"kind": "range", $range}], "columns": []$more}"""

  private def arrow(field: Field, metadata: (String, String)*): String = {
    val bytes = new ByteArrayOutputStream
    val made = new Schema(Collections.singletonList(field), metadata.toMap.asJava)
    MessageSerializer.serialize(new WriteChannel(Channels.newChannel(bytes)), made)
    Base64.getEncoder.encodeToString(bytes.toByteArray)
  }

  private def text(name: String, ordered: Boolean, bits: Int = 8): Field = new Field(
    name,
    new FieldType(
      true,
      new ArrowType.Utf8,
      new DictionaryEncoding(0L, ordered, new ArrowType.Int(bits, true))),
    Collections.emptyList[Field])

  private val default = """"name": null, "start": 0, "stop": 7, "step": 1"""

  test("data in a footer is found, also where the key would go anyway") {
    val named = pandas(default.replace("null", "\"key\""))
    assert(refusal(file(0), file(1, "pandas" -> named)).contains("/t/1.parquet"))
    val copied = arrow(text("c", ordered = false), "pandas" -> named)
    assert(refusal(file(0, "ARROW:schema" -> copied)).contains("named `key`"))
    assert(lossy(file(0, "ARROW:schema" -> copied)).lost.exists(_.contains("named `key`")))
    val nested = new Field(
      "s",
      new FieldType(true, new ArrowType.Struct, null),
      Collections.singletonList(text("inner", ordered = true)))
    assert(refusal(file(0, "ARROW:schema" -> arrow(nested))).contains("`inner`"))
  }

  test("a RangeIndex goes from the key and from its copy") {
    def keys(stop: Int) = {
      val json = pandas(default.replace("7", stop.toString))
      Seq("pandas" -> json, "ARROW:schema" -> arrow(text("c", ordered = false), "pandas" -> json))
    }
    val kept = merge(file(0, keys(7): _*), file(1, keys(8): _*))
    assert(kept.values.keySet === Set("pandas", "ARROW:schema"))
    assert(kept.lost.size === 1)
    assert(!kept.values("pandas").contains("range"))
    val copy = ArrowSchemaKey.metadata(kept.values("ARROW:schema"))
    assert(copy === Map("pandas" -> kept.values("pandas")))
  }

  test("one file without anything to change keeps the text of its keys") {
    val keys = Seq("x" -> "y", "ARROW:schema" -> arrow(text("c", ordered = false), "x" -> "y"))
    assert(merge(file(0, keys: _*)) === KeptKeys(keys.toMap, Nil))
    // a text that is no schema is like any other key
    assert(merge(file(0, "ARROW:schema" -> "?"), file(1, "ARROW:schema" -> "?")) ===
      KeptKeys(Map("ARROW:schema" -> "?"), Nil))
  }

  test("a schema that cannot be converted goes if the keys of its dictionaries may be too narrow") {
    def key(bits: Int): (String, String) = {
      val builder = new FlatBufferBuilder()
      val names = Seq("t", "c").map(builder.createString)
      // no class of Arrow knows this precision
      val odd = FlatFloatingPoint.createFloatingPoint(builder, 99)
      FlatUtf8.startUtf8(builder)
      val text = FlatUtf8.endUtf8(builder)
      val dictionary = FlatEncoding.createDictionaryEncoding(
        builder,
        0L,
        FlatInt.createInt(builder, bits, true),
        false,
        0)
      val none = FlatField.createChildrenVector(builder, Array.emptyIntArray)
      val fields = Seq(
        (FlatType.FloatingPoint, odd, None),
        (FlatType.Utf8, text, Some(dictionary))).zip(names).map { case ((id, t, keys), name) =>
        FlatField.startField(builder)
        FlatField.addName(builder, name)
        FlatField.addTypeType(builder, id)
        FlatField.addType(builder, t)
        FlatField.addChildren(builder, none)
        keys.foreach(FlatField.addDictionary(builder, _))
        FlatField.endField(builder)
      }
      "ARROW:schema" -> encoded(schemaOf(builder, fields.toArray, Array.emptyIntArray))
    }
    val (narrow, wide) = (key(8), key(32))
    assert(merge(file(0, narrow)) === KeptKeys(Map(narrow), Nil))
    assert(merge(file(0, wide), file(1, wide)) === KeptKeys(Map(wide), Nil))
    assert(lossy(file(0, narrow), file(1, narrow)).values === Map.empty)
  }

  /** A message of Arrow's IPC format. */
  private def schemaOf(
      builder: FlatBufferBuilder,
      fields: Array[Int],
      metadata: Array[Int]): Array[Byte] = {
    val entries = FlatSchema.createCustomMetadataVector(builder, metadata)
    val all = FlatSchema.createFieldsVector(builder, fields)
    FlatSchema.startSchema(builder)
    FlatSchema.addFields(builder, all)
    FlatSchema.addCustomMetadata(builder, entries)
    val made = FlatSchema.endSchema(builder)
    Message.startMessage(builder)
    Message.addVersion(builder, MetadataVersion.V5)
    Message.addHeaderType(builder, MessageHeader.Schema)
    Message.addHeader(builder, made)
    Message.finishMessageBuffer(builder, Message.endMessage(builder))
    builder.sizedByteArray()
  }

  private def encoded(message: Array[Byte], marked: Boolean = true): String = {
    val bytes = ByteBuffer.allocate(message.length + 8).order(ByteOrder.LITTLE_ENDIAN)
    if (marked) bytes.putInt(-1)
    bytes.putInt(message.length).put(message)
    Base64.getEncoder.encodeToString(bytes.array)
  }

  test("a key of a schema without a value") {
    val builder = new FlatBufferBuilder()
    val key = builder.createString("x")
    KeyValue.startKeyValue(builder)
    KeyValue.addKey(builder, key)
    val message = schemaOf(builder, Array.emptyIntArray, Array(KeyValue.endKeyValue(builder)))
    val texts = Seq(true, false).map(encoded(message, _))
    assert(texts.map(ArrowSchemaKey.metadata) === Seq.fill(2)(Map("x" -> "")))
    // two texts, so a new one is written
    val kept = merge(file(0, "ARROW:schema" -> texts(0)), file(1, "ARROW:schema" -> texts(1)))
    assert(ArrowSchemaKey.metadata(kept.values("ARROW:schema")) === Map("x" -> ""))
  }

  test("schemas that differ in more than the keys of dictionaries go") {
    val (narrow, wide) = (arrow(text("c", ordered = false)), arrow(text("c", ordered = false, 16)))
    val kept = merge(file(0, "ARROW:schema" -> narrow), file(1, "ARROW:schema" -> wide))
    assert(kept === KeptKeys(
      Map("ARROW:schema" -> arrow(text("c", ordered = false, 32))),
      Nil))
    for (other <- Seq(arrow(text("d", ordered = false)), "?")) {
      val lost = merge(file(0, "ARROW:schema" -> narrow), file(1, "ARROW:schema" -> other))
      assert(lost.values.isEmpty && lost.lost.head.contains("`ARROW:schema` is dropped"))
    }
    val copied = arrow(text("c", ordered = false), "org.apache.spark.version" -> "3.1.0")
    assert(merge(file(0, "ARROW:schema" -> copied)).values === Map("ARROW:schema" -> narrow))
  }

  test("a key of pandas goes where it cannot be read or the files disagree") {
    for (other <- Seq("no JSON", "[]", pandas(default, """, "attributes": {"a": 1}"""))) {
      val kept = merge(file(0, "pandas" -> pandas(default)), file(1, "pandas" -> other))
      assert(kept.values.isEmpty, other)
      assert(kept.lost.exists(_.contains("`pandas` is dropped")), other)
    }
    // who has written the file does not count
    val written = Seq("1.0", "2.0").map(v => pandas(default, s""", "pandas_version": "$v""""))
    assert(merge(file(0, "pandas" -> written(0)), file(1, "pandas" -> written(1))).values.nonEmpty)
  }

  test("Hive's key names the calendar of the new days") {
    val key = "writer.date.proleptic"
    def of(converted: ScannedFile => Boolean)(values: String*): KeptKeys = {
      val files = values.zipWithIndex.map {
        case ("", i) => file(i)
        case (value, i) => file(i, key -> value)
      }
      new FooterKeys(mayLose = false, converted).merge(files, haveNewSchema = true)
    }
    val isTrue = KeptKeys(Map(key -> "true"), Nil)
    // nothing is converted: a value of all files stays
    assert(of(_ => false)("false", "false") === KeptKeys(Map(key -> "false"), Nil))
    assert(of(_ => false)("true", "true") === isTrue)
    assert(of(_ => false)("true", "false") === isTrue)
    assert(of(_ => false)("", "true") === isTrue)
    assert(of(_ => false)("", "false").values === Map.empty)
    // some file is converted, also one of a writer that does not know the key
    for (values <-
        Seq(Seq("false", "false"), Seq("", "false"), Seq("false", "true"), Seq("", ""))) {
      assert(of(_.file.path.getName == "0.parquet")(values: _*) === isTrue, values)
    }
  }

  test("the number of categories is added, and is at most that of the rows") {
    def key(n: Int, code: String): String =
      s"""{"index_columns": [], "columns": [{"name": "c", "pandas_type": "categorical",
        |"numpy_type": "$code", "metadata": {"num_categories": $n, "ordered": false}}]}""".stripMargin
    def sum(a: Int, b: Int): (Int, String) = {
      val kept = merge(file(0, "pandas" -> key(a, "int8")), file(1, "pandas" -> key(b, "int16")))
      val column = new ObjectMapper().readTree(kept.values("pandas")).at("/columns/0")
      column.at("/metadata/num_categories").asInt -> column.get("numpy_type").asText
    }
    assert(sum(3, 4) === (7 -> "int32"))
    assert(sum(300, 400) === (20 -> "int32"))
  }
}
