// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table.schema

import java.io.ByteArrayOutputStream
import java.nio.{ByteBuffer, ByteOrder}
import java.nio.channels.Channels
import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}
import java.util.Base64

import scala.collection.JavaConverters._
import scala.collection.mutable.LinkedHashMap
import scala.util.control.NonFatal

import org.apache.arrow.flatbuf.{Field => FlatField, Message, Schema => FlatSchema}
import org.apache.arrow.vector.ipc.WriteChannel
import org.apache.arrow.vector.ipc.message.MessageSerializer
import org.apache.arrow.vector.types.pojo.{ArrowType, DictionaryEncoding, Field, FieldType, Schema}

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.table.stats.ScannedFile

/**
 * The key-values of the footers of new files.
 *
 * @param lost what is in the footers of the inputs, but not in those of the new files; each text is a part of a
 *   sentence
 */
private[sparkzorder] final case class KeptKeys(values: Map[String, String], lost: Seq[String])

/**
 * The value of a key in some files whose footers are equal.
 *
 * @param file one of the files
 * @param files the number of files
 * @param ofFastparquet true if the library fastparquet has written some of the files
 * @param isConverted true if Spark converts early dates or timestamps of some of the files
 */
private[schema] final case class FooterValue(
    text: String,
    file: String,
    files: Int,
    ofFastparquet: Boolean,
    isConverted: Boolean = false)

/**
 * What becomes of one footer key in the new files.
 *
 * @param value the value in the new files; None if the key is dropped
 * @param lost what the new files lose, as in [[KeptKeys]]
 */
private[schema] final case class KeptKey(value: Option[String], lost: Seq[String])

private[schema] object KeptKey {
  def dropped(key: String, why: String): KeptKey =
    KeptKey(None, Seq(s"the footer key `$key` is dropped: $why"))

  def disagree(key: String): KeptKey = dropped(key, "the files disagree on it")
}

/**
 * Merges the footer key-values of several files. Values of a known form are joined. Any other key stays if
 * all files have the same value. Spark's own keys are left out, because Spark writes them into each new file.
 *
 * If some files have rows, the caller leaves out the files without rows, because their footers describe no row.
 *
 * @param mayLose whether data that only a footer holds may be lost
 * @param isConverted whether Spark converts early dates or timestamps of a file
 */
private[sparkzorder] final class FooterKeys(
    mayLose: Boolean,
    isConverted: ScannedFile => Boolean) {
  import FooterKeys._

  /**
   * @param haveNewSchema whether all files have exactly the columns and fields of the new files
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_FOOTER_HOLDS_DATA, naming a file
   */
  def merge(files: Seq[ScannedFile], haveNewSchema: Boolean): KeptKeys = {
    val footers = LinkedHashMap.empty[Map[String, String], FooterValue]
    files.foreach { f =>
      val made = f.createdBy.startsWith("fastparquet")
      val keys = if (f.orc.isEmpty) f.keyValues else ofOrc(f.keyValues)
      val same = footers.getOrElse(keys, FooterValue("", f.file.path.toString, 0, made))
      footers(keys) =
        same.copy(
          files = same.files + 1,
          ofFastparquet = same.ofFastparquet || made,
          isConverted = same.isConverted || isConverted(f))
    }
    val held = footers.toSeq.flatMap { case (keys, source) =>
      val found = heldBy(keys)
      if (!mayLose)
        found.headOption.foreach(h => throw ZOrderErrors.footerHoldsData(source.file, h))
      found
    }
    val kept = merged(footers.toSeq, files.map(_.rows).sum, haveNewSchema)
    // Hive takes a file without the key for one of the old calendar
    val calendar =
      if (footers.values.exists(_.isConverted)) {
        Map(HiveCalendarKey.Name -> HiveCalendarKey.Proleptic)
      } else Map.empty
    KeptKeys(kept.values ++ calendar, (held.map(h => s"lost is $h") ++ kept.lost).distinct)
  }

  /**
   * ORC footers hold values as bytes, which were decoded as Latin-1. The values of known keys are UTF-8, so they
   * are decoded again.
   */
  private def ofOrc(keys: Map[String, String]): Map[String, String] = keys.map {
    case (key, value) if Known.contains(key) => key -> new String(value.getBytes(ISO_8859_1), UTF_8)
    case other => other
  }

  private def heldBy(keys: Map[String, String]): Seq[String] =
    keys.toSeq.sortBy(_._1).flatMap {
      case (ArrowSchemaKey.Name, text) =>
        ArrowSchemaKey.ordered(text) ++ heldBy(ArrowSchemaKey.metadata(text))
      case (key, text) => Known.get(key).toSeq.flatMap(_.held(text))
    }.distinct

  private def merged(
      footers: Seq[(Map[String, String], FooterValue)],
      rows: Long,
      haveNewSchema: Boolean): KeptKeys = {
    val names = footers.flatMap(_._1.keys).distinct.sorted
      .filterNot(_.startsWith("org.apache.spark."))
    val keys = names.map { name =>
      val values = footers.flatMap { case (keys, source) =>
        keys.get(name).map(text => source.copy(text = text))
      }
      name -> (
        if (name == HiveCalendarKey.Name) {
          HiveCalendarKey.join(values, footers.size, footers.exists(_._2.isConverted))
        } else if (values.size < footers.size)
          KeptKey.dropped(name, "only some of the files have it")
        else if (Schemas(name) && !haveNewSchema) {
          KeptKey.dropped(name, "not all files have the columns and types of the new files")
        } else if (name == ArrowSchemaKey.Name) {
          val copies = footers.map { case (keys, source) =>
            ArrowSchemaKey.metadata(keys(name)) -> source
          }
          ArrowSchemaKey.join(values, merged(copies, rows, haveNewSchema))
        } else if (Known.contains(name)) Known(name).join(values, rows)
        else if (values.forall(_.text == values.head.text)) KeptKey(Some(values.head.text), Nil)
        else KeptKey.disagree(name))
    }
    KeptKeys(
      keys.flatMap { case (name, key) => key.value.map(name -> _) }.toMap,
      keys.flatMap(_._2.lost).distinct)
  }
}

private object FooterKeys {
  private val Known: Map[String, KnownKey] =
    Map(PandasKey.Name -> PandasKey, GeoKey.Name -> GeoKey)

  /**
   * Keys in which other libraries keep a schema of their own. Such a schema stays only if all inputs have exactly the
   * columns and fields of the new files, because Arrow gives its types to columns and fields by position.
   */
  private val Schemas: Set[String] = Set(
    ArrowSchemaKey.Name,
    PandasKey.Name,
    "parquet.avro.schema",
    "avro.schema",
    "iceberg.schema")
}

/**
 * The key with Arrow's schema, a message of Arrow's IPC format in Base64. The schema may hold copies of other
 * footer keys, and pyarrow reads these copies.
 *
 * The schema is read by the classes of Arrow that come with Spark. A schema with types that these classes do not know
 * stays only if nothing in the schema has to change.
 */
private[schema] object ArrowSchemaKey {
  val Name = "ARROW:schema"

  // begins the key under which Polars keeps the values of a field
  private val Enumeration = "_PL_ENUM_VALUES"

  /** The text for the order of a column's categories. The dictionary in the file has the categories in this order. */
  def orderOf(column: String): String = s"the order of the categories of `$column`"

  /**
   * The orders of categories, each as text. A rewrite loses them, because only the dictionaries of a file hold
   * them.
   */
  def ordered(text: String): Seq[String] =
    read(text).toSeq.flatMap(s => fields(s).flatMap(ordered)).map(orderOf)

  /** The keys and values that the schema itself holds. */
  def metadata(text: String): Map[String, String] = read(text).map(metadata).getOrElse(Map.empty)

  /** As in Arrow's own classes, a key or a value that is not there is empty. */
  private def metadata(s: FlatSchema): Map[String, String] =
    (0 until s.customMetadataLength).map(s.customMetadata(_))
      .map(e => Option(e.key).getOrElse("") -> Option(e.value).getOrElse("")).toMap

  /** @param copies what becomes of the footer keys of which the schemas hold copies */
  def join(values: Seq[FooterValue], copies: KeptKeys): KeptKey = {
    val isOneText = values.forall(_.text == values.head.text)
    val isSeveral = values.map(_.files).sum > 1
    val schemas = values.map(v => convert(v.text).map(_.getFields.asScala.toList))
    val joined = schemas.map(_.map(_.map(f => joinable(f, isSeveral)))).distinct match {
      case Seq(Some(fields)) => Right(fields)
      case several if several.contains(None) => Left("it cannot be read")
      case _ => Left("the files disagree on it")
    }
    def text = values.head.text
    val isUnchanged = isOneText && copies.values == metadata(text)
    joined match {
      case Right(fields) if isUnchanged && schemas.head.contains(fields) =>
        KeptKey(Some(text), copies.lost)
      case Right(fields) =>
        KeptKey(Some(write(new Schema(fields.asJava, copies.values.asJava))), copies.lost)
      case Left(_)
          if isUnchanged && ordered(text).isEmpty && !(isSeveral && hasNarrowKeys(text)) =>
        KeptKey(Some(text), copies.lost)
      case Left(why) => KeptKey.dropped(Name, why)
    }
  }

  /**
   * A field in which everything that may differ from file to file is made equal. The keys of a dictionary are only
   * as wide as one file needs. If there are several files, their keys get 32 bits, because the new file may have
   * the values of all. A list of values that Polars keeps in the field does not grow, so its keys keep their width.
   */
  private def joinable(f: Field, isSeveral: Boolean): Field = {
    val isFixed = f.getMetadata.keySet.asScala.exists(_.startsWith(Enumeration))
    val dictionary = Option(f.getDictionary).map { d =>
      val key = d.getIndexType
      val isNarrow = key.getBitWidth < 32 && isSeveral && !isFixed
      new DictionaryEncoding(
        d.getId,
        false,
        if (isNarrow) new ArrowType.Int(32, key.getIsSigned) else key)
    }
    new Field(
      f.getName,
      new FieldType(f.isNullable, f.getType, dictionary.orNull, f.getMetadata),
      f.getChildren.asScala.map(joinable(_, isSeveral)).asJava)
  }

  private def read(text: String): Option[FlatSchema] = attempt {
    val bytes = ByteBuffer.wrap(Base64.getDecoder.decode(text)).order(ByteOrder.LITTLE_ENDIAN)
    // skips the length of the message, and the marker before the length, which the first versions of the format lack
    bytes.position(if (bytes.getInt(0) == -1) 8 else 4)
    val message = Message.getRootAsMessage(bytes.slice().order(ByteOrder.LITTLE_ENDIAN))
    val schema = message.header(new FlatSchema).asInstanceOf[FlatSchema]
    // reads all fields, keys and values once, so that bytes which are no schema fail here
    fields(schema).foreach(ordered)
    metadata(schema)
    schema
  }

  private def convert(text: String): Option[Schema] =
    read(text).flatMap(s => attempt(Schema.convertSchema(s)))

  private def write(schema: Schema): String = {
    val bytes = new ByteArrayOutputStream
    MessageSerializer.serialize(new WriteChannel(Channels.newChannel(bytes)), schema)
    Base64.getEncoder.encodeToString(bytes.toByteArray)
  }

  /** True if a dictionary has keys that [[joinable]] would widen. */
  private def hasNarrowKeys(text: String): Boolean =
    read(text).exists(s => attempt(fields(s).exists(hasNarrowKeys)).getOrElse(true))

  private def hasNarrowKeys(f: FlatField): Boolean = {
    // without a type, the keys have 32 bits
    def isNarrow = Option(f.dictionary).flatMap(d => Option(d.indexType)).exists(_.bitWidth < 32)
    def isFixed = (0 until f.customMetadataLength)
      .exists(i => Option(f.customMetadata(i).key).exists(_.startsWith(Enumeration)))
    (isNarrow && !isFixed) || (0 until f.childrenLength).exists(i => hasNarrowKeys(f.children(i)))
  }

  private def fields(s: FlatSchema): Seq[FlatField] = (0 until s.fieldsLength).map(s.fields(_))

  private def ordered(f: FlatField): Seq[String] = {
    val own =
      if (f.dictionary != null && f.dictionary.isOrdered) Option(f.name).toSeq else Nil
    own ++ (0 until f.childrenLength).flatMap(i => ordered(f.children(i)))
  }

  // a Spark without Arrow's jars has no such class
  private def attempt[T](body: => T): Option[T] =
    try Option(body)
    catch { case NonFatal(_) | _: LinkageError => None }
}
