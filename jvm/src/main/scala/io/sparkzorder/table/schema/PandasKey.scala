// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table.schema

import scala.collection.JavaConverters._
import scala.collection.mutable.{ArrayBuffer, LinkedHashSet}

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}

/**
 * The key in which pandas notes its index and the types of its columns.
 *
 * An index is a column of the file, or a RangeIndex, which is not: it numbers the rows by their order.
 * A rewritten file has another order, so a RangeIndex goes. A RangeIndex from 0 by 1 without a name is
 * what pandas gives to any rows; another one is data, as its numbers or its name are nowhere else.
 */
private[schema] object PandasKey extends KnownKey {
  val Name = "pandas"

  // who has written the key; says nothing of the rows
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

  /** Takes out what is not true of other rows; returns what that is. */
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
