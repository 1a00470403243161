// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table.schema

import java.io.ByteArrayOutputStream
import java.nio.{ByteBuffer, ByteOrder}
import java.nio.channels.Channels
import java.util.Base64

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

import org.apache.arrow.flatbuf.{Field => FlatField, Message, Schema => FlatSchema}
import org.apache.arrow.vector.ipc.WriteChannel
import org.apache.arrow.vector.ipc.message.MessageSerializer
import org.apache.arrow.vector.types.pojo.{ArrowType, DictionaryEncoding, Field, FieldType, Schema}

/**
 * The key in which Arrow's writers note Arrow's schema, a message of Arrow's IPC format in Base64. The
 * schema may hold copies of other footer keys, and these copies are what pyarrow reads.
 *
 * The classes of Arrow that read it come with Spark. A schema with types that they do not know stays
 * only where nothing in it has to change.
 */
private[schema] object ArrowSchemaKey {
  val Name = "ARROW:schema"

  /** What is lost where the categories of a column have an order: that of the file's dictionary. */
  def orderOf(column: String): String = s"the order of the categories of `$column`"

  /** What only the dictionaries of the file hold. */
  def ordered(text: String): Seq[String] =
    read(text).toSeq.flatMap(s => fields(s).flatMap(ordered)).map(orderOf)

  /** The keys and values that the schema itself holds. */
  def metadata(text: String): Map[String, String] = read(text).map { s =>
    (0 until s.customMetadataLength).map(s.customMetadata(_)).map(e => e.key -> e.value).toMap
  }.getOrElse(Map.empty)

  /** @param copies what becomes of the keys in the schemas */
  def join(values: Seq[FooterValue], copies: KeptKeys): KeptKey = {
    val isOneText = values.forall(_.text == values.head.text)
    val isSeveral = values.map(_.files).sum > 1
    val schemas = values.map(v => convert(v.text).map(_.getFields.asScala.toList))
    val joined = schemas.map(_.map(_.map(f => joinable(f, isSeveral)))).distinct match {
      case Seq(Some(fields)) => Right(fields)
      case several if several.contains(None) => Left("it cannot be read")
      case _ => Left("the files disagree on it")
    }
    val isLeft = isOneText && copies.values == metadata(values.head.text)
    joined match {
      case Right(fields) if isLeft && schemas.head.contains(fields) =>
        KeptKey(Some(values.head.text), copies.lost)
      case Right(fields) =>
        KeptKey(Some(write(new Schema(fields.asJava, copies.values.asJava))), copies.lost)
      case Left(_) if isLeft && ordered(values.head.text).isEmpty =>
        KeptKey(Some(values.head.text), copies.lost)
      case Left(why) => KeptKey.dropped(Name, why)
    }
  }

  /**
   * A field with what may differ from file to file made equal: the keys of a dictionary have the width
   * that the values of one file need. A list of values that Polars notes in the field does not grow.
   */
  private def joinable(f: Field, isSeveral: Boolean): Field = {
    val isFixed = f.getMetadata.keySet.asScala.exists(_.startsWith("_PL_ENUM_VALUES"))
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
    // the length comes after a marker, which the first versions of the format did not have
    bytes.position(if (bytes.getInt(0) == -1) 8 else 4)
    val message = Message.getRootAsMessage(bytes.slice().order(ByteOrder.LITTLE_ENDIAN))
    val schema = message.header(new FlatSchema).asInstanceOf[FlatSchema]
    // fails here if the bytes are no schema
    fields(schema).foreach(ordered)
    schema
  }

  private def convert(text: String): Option[Schema] =
    read(text).flatMap(s => attempt(Schema.convertSchema(s)))

  private def write(schema: Schema): String = {
    val bytes = new ByteArrayOutputStream
    MessageSerializer.serialize(new WriteChannel(Channels.newChannel(bytes)), schema)
    Base64.getEncoder.encodeToString(bytes.toByteArray)
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
    catch { case e @ (NonFatal(_) | _: LinkageError) => val _ = e; None }
}
