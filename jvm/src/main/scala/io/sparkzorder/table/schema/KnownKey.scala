// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table.schema

import scala.collection.JavaConverters._
import scala.collection.mutable.{ArrayBuffer, LinkedHashSet}
import scala.util.Try

import com.fasterxml.jackson.core.json.JsonWriteFeature
import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.json.JsonMapper
import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}

/** A footer key whose values can be joined, because their form is known. */
private[schema] trait KnownKey {

  /** Data in the value that no column of the file has. A rewritten file would lose the data. */
  def held(value: String): Seq[String] = Nil

  /** @param rows number of rows of all files */
  def join(values: Seq[FooterValue], rows: Long): KeptKey
}

/**
 * The key with the index of pandas and the types of its columns.
 *
 * An index is a column of the file or a RangeIndex, which numbers the rows in their order. A rewritten file has another
 * order, so a RangeIndex is removed. Without a name, from 0 and by 1, it is the default of pandas, and holds no data.
 * Any other RangeIndex is data, because its numbers or its name are nowhere else.
 */
private[schema] object PandasKey extends KnownKey {
  val Name = "pandas"

  // the members that tell which program wrote the key; they do not describe rows
  private val Author = Seq("creator", "pandas_version")
  private val Category = "categorical"

  override def held(value: String): Seq[String] =
    FooterJson.read(value).toSeq.flatMap { json =>
      val ranges = elements(json, "index_columns").filter(isRange).filterNot(isDefault)
        .map(r => s"an index of pandas: a RangeIndex ${described(r)}")
      val categories = elements(json, "columns").filter(c =>
        isCategory(c) && c.path("metadata").path("ordered").asBoolean)
      ranges ++ categories.map(c => ArrowSchemaKey.orderOf(c.path("name").asText))
    }

  override def join(values: Seq[FooterValue], rows: Long): KeptKey = {
    val lost = LinkedHashSet.empty[String]
    FooterJson.join(Name, values, Author :+ "columns": _*)(lost ++= prepared(_, _))(joinColumns)
      .fold(
        identity,
        json => {
          categories(json).foreach(limitCategories(_, rows))
          KeptKey(Some(FooterJson.write(json)), lost.toSeq)
        })
  }

  /** Removes what is not true of the rows of a new file, and returns a text for each removal that users notice. */
  private def prepared(json: ObjectNode, value: FooterValue): Seq[String] = {
    val lost = ArrayBuffer.empty[String]
    val index = elements(json, "index_columns")
    if (index.exists(isRange)) {
      json.putArray("index_columns").addAll(index.filterNot(isRange).asJava)
      lost += "the footer key `pandas` has no RangeIndex any more: the rows have another order"
    }
    categories(json).foreach { c =>
      c.get("metadata") match {
        case m: ObjectNode =>
          if (m.path("ordered").asBoolean) m.put("ordered", false)
          if (m.path("num_categories").isNumber) {
            m.put("num_categories", m.get("num_categories").asLong * value.files)
          }
        case _ =>
      }
      if (value.ofFastparquet) {
        // fastparquet takes the last dictionary of a column for the dictionary of all row groups
        c.put("pandas_type", "object").put("numpy_type", "object").putNull("metadata")
        lost += s"fastparquet reads `${c.path("name").asText}` as values, not as a category"
      }
    }
    lost.toSeq
  }

  private def joinColumns(joined: ObjectNode, other: ObjectNode): Boolean = {
    val (mine, theirs) = (elements(joined, "columns"), elements(other, "columns"))
    mine.size == theirs.size && mine.zip(theirs).forall {
      case (a: ObjectNode, b: ObjectNode) if isCategory(a) && isCategory(b) =>
        val same = withoutSize(a) == withoutSize(b)
        if (same) joinSizes(a, b)
        same
      case (a, b) => a == b
    }
  }

  /** A category without what depends on the number of its values. */
  private def withoutSize(column: ObjectNode): ObjectNode = {
    val copy = FooterJson.without(column.deepCopy(), "numpy_type")
    copy.get("metadata") match {
      case m: ObjectNode => m.remove("num_categories")
      case _ =>
    }
    copy
  }

  private def joinSizes(a: ObjectNode, b: ObjectNode): Unit = {
    val types = Seq(a, b).map(_.path("numpy_type").asText)
    // the type of the keys of the dictionary: int8, int16, ...
    if (types.distinct.size > 1) a.put("numpy_type", "int32")
    (a.get("metadata"), b.get("metadata")) match {
      case (m: ObjectNode, n: ObjectNode) if m.has("num_categories") && n.has("num_categories") =>
        m.put("num_categories", m.get("num_categories").asLong + n.get("num_categories").asLong)
      case _ =>
    }
  }

  private def limitCategories(column: ObjectNode, rows: Long): Unit =
    column.get("metadata") match {
      case m: ObjectNode if m.path("num_categories").asLong > rows =>
        m.put("num_categories", rows)
      case _ =>
    }

  private def categories(json: ObjectNode): Seq[ObjectNode] =
    elements(json, "columns").collect { case c: ObjectNode if isCategory(c) => c }

  private def isCategory(column: JsonNode): Boolean =
    column.path("pandas_type").asText == Category

  private def isRange(index: JsonNode): Boolean = index.path("kind").asText == "range"

  private def isDefault(range: JsonNode): Boolean =
    range.path("name").isNull && range.path("start").asLong(0) == 0 &&
      range.path("step").asLong(1) == 1

  private def described(range: JsonNode): String = {
    val name = if (range.path("name").isNull) "" else s"named `${range.path("name").asText}` "
    s"${name}from ${range.path("start").asText} by ${range.path("step").asText}"
  }

  private def elements(json: ObjectNode, member: String): Seq[JsonNode] = json.get(member) match {
    case a: ArrayNode => a.asScala.toList
    case _ => Nil
  }
}

/**
 * The key that makes a Parquet file a GeoParquet file. The bounding boxes and the types of the geometries of
 * all files are joined. A file may have no box, and an empty list of types means that the types are not known.
 * All other members but `creator` must be the same in all files.
 */
private[schema] object GeoKey extends KnownKey {
  val Name = "geo"

  private val Box = "bbox"
  private val Types = "geometry_types"

  override def join(values: Seq[FooterValue], rows: Long): KeptKey = {
    var boxed = Set.empty[String]
    FooterJson.join(Name, values, "creator", "columns")((json, _) => boxed ++= withBox(json))(
      joinColumns).fold(
      identity,
      json =>
        KeptKey(
          Some(FooterJson.write(json)),
          (boxed -- withBox(json)).toSeq.sorted.map(c =>
            s"the footer key `geo` has no bbox of `$c` any more")))
  }

  private def columns(json: ObjectNode): Map[String, ObjectNode] = json.get("columns") match {
    case o: ObjectNode =>
      o.fieldNames.asScala.map(n => n -> o.get(n)).collect { case (n, c: ObjectNode) =>
        n -> c
      }.toMap
    case _ => Map.empty
  }

  private def withBox(json: ObjectNode): Iterable[String] =
    columns(json).collect { case (name, c) if c.has(Box) => name }

  private def joinColumns(joined: ObjectNode, other: ObjectNode): Boolean = {
    val (mine, theirs) = (columns(joined), columns(other))
    mine.keySet == theirs.keySet && mine.forall { case (name, column) =>
      val same = others(column) == others(theirs(name))
      if (same) {
        put(column, Box, joinedBox(column.get(Box), theirs(name).get(Box)))
        put(column, Types, joinedTypes(column.get(Types), theirs(name).get(Types)))
      }
      same
    }
  }

  private def others(column: ObjectNode): ObjectNode = FooterJson.without(column, Box, Types)

  private def put(column: ObjectNode, member: String, value: Option[JsonNode]): Unit =
    value.fold(column.remove(member))(v => column.set[JsonNode](member, v))

  /**
   * The box around two boxes. None if their dimensions differ, or if one of them crosses the antimeridian: the west end
   * of such a box is greater than its east end.
   */
  private def joinedBox(a: JsonNode, b: JsonNode): Option[JsonNode] = (a, b) match {
    case (x: ArrayNode, y: ArrayNode) if x.size == y.size && isPlain(x) && isPlain(y) =>
      val half = x.size / 2
      val joined = x.deepCopy()
      (0 until x.size).foreach { i =>
        val isLess = y.get(i).asDouble < x.get(i).asDouble
        if (isLess == (i < half)) joined.set(i, y.get(i))
      }
      Some(joined)
    case _ => None
  }

  private def isPlain(box: ArrayNode): Boolean = {
    val half = box.size / 2
    Set(2, 3)(half) && box.size == 2 * half && box.asScala.forall(_.isNumber) &&
    (0 until half).forall(i => box.get(i).asDouble <= box.get(i + half).asDouble)
  }

  private def joinedTypes(a: JsonNode, b: JsonNode): Option[JsonNode] = (a, b) match {
    case (x: ArrayNode, y: ArrayNode) =>
      val joined = x.deepCopy().removeAll()
      if (x.size > 0 && y.size > 0) {
        (x.asScala ++ y.asScala).toSeq.distinct.foreach(t => joined.add(t))
      }
      Some(joined)
    case _ => None
  }
}

/** JSON in the footers of other writers. */
private[schema] object FooterJson {
  // writes only ASCII: the footers of Parquet and ORC files both keep it unchanged
  private val mapper =
    JsonMapper.builder().enable(JsonWriteFeature.ESCAPE_NON_ASCII).build()

  /** The object of a text; None if the text is something else. */
  def read(text: String): Option[ObjectNode] =
    Try(mapper.readTree(text)).toOption.collect { case o: ObjectNode => o }

  def write(json: JsonNode): String = mapper.writeValueAsString(json)

  /** A copy without some members. It shares the other members with the original. */
  def without(json: ObjectNode, members: String*): ObjectNode = {
    val copy = mapper.createObjectNode()
    copy.setAll[JsonNode](json)
    members.foreach(m => copy.remove(m))
    copy
  }

  /**
   * Joins the values of a key that are equal but for some members. Only two values at once are in memory as
   * objects.
   *
   * @param members the members that may differ
   * @param prepare changes an object before it is compared
   * @param join merges these members of both objects into the first object; false if they do not fit each
   *   other
   * @return the joined object, or the result for the key if the values cannot be joined
   */
  def join(key: String, values: Seq[FooterValue], members: String*)(
      prepare: (ObjectNode, FooterValue) => Unit)(
      join: (ObjectNode, ObjectNode) => Boolean): Either[KeptKey, ObjectNode] = {
    val unreadable = KeptKey.dropped(key, "it cannot be read")
    val jsons = values.iterator.map { v =>
      val json = read(v.text)
      json.foreach(prepare(_, v))
      json
    }
    jsons.next() match {
      case None => Left(unreadable)
      case Some(joined) =>
        val rest = without(joined, members: _*)
        jsons.flatMap {
          case None => Some(unreadable)
          case Some(j) if rest == without(j, members: _*) && join(joined, j) => None
          case _ => Some(KeptKey.disagree(key))
        }.buffered.headOption.toLeft(joined)
    }
  }
}
