// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table.schema

import scala.collection.JavaConverters._

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}

/**
 * The key that makes a Parquet file a GeoParquet file. What it says of the geometries of one file is
 * joined: their bounding box, which may be left out, and their types, where an empty list says that they
 * are not known. All else must be the same in all files.
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

  private def put(column: ObjectNode, member: String, value: Option[JsonNode]): Unit = {
    val _ = value.fold(column.remove(member))(v => column.set[JsonNode](member, v))
  }

  /**
   * The box around two boxes of as many dimensions, if there is one. A box across the antimeridian has
   * its west end above its east end.
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
