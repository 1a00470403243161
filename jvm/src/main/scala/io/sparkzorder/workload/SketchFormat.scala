// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.workload

import java.io.IOException
import java.util.UUID

import scala.collection.JavaConverters._
import scala.util.Try

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

/**
 * A sketch as it lies in a file.
 *
 * @param id the driver's; a driver writes the sketch of a day anew every few minutes
 * @param day days since 1970 in UTC
 */
private[workload] final case class StoredSketch(
    id: String,
    day: Long,
    templates: Map[Template, TemplateUse]) {

  /** How many scans it knows of. */
  def count: Long = templates.values.map(_.count).sum
}

/**
 * The bytes of a sketch: JSON with names of columns, kinds and numbers. A user who may write into the
 * table's directory may have written the file, so everything is checked when it is read.
 */
private[workload] object SketchFormat {
  val Version = 1
  val MaxBytes = 64 * 1024
  private val MaxName = 1024
  private val mapper = new ObjectMapper()

  /** At most `MaxBytes` bytes: boxes go first, then templates, those of the least weight. */
  def toBytes(sketch: StoredSketch): Array[Byte] = {
    val all = json(sketch)
    if (all.length <= MaxBytes) all else toBytes(smaller(sketch))
  }

  private def smaller(sketch: StoredSketch): StoredSketch = {
    val most = sketch.templates.values.map(_.boxes.size).max
    if (most > 4) {
      sketch.copy(templates = sketch.templates.map { case (t, u) =>
        t -> u.copy(boxes = u.boxes.toSeq.sortBy(-_._2).take(most / 2).toMap)
      })
    } else {
      // what is left out counts among the scans that skip no file
      val (rest, sorted) = sketch.templates.toSeq.sortBy(-_._2.weight)
        .partition(_._1 == Sketch.Unskippable)
      val (kept, dropped) = sorted.splitAt(sorted.size / 2)
      val others = (rest ++ dropped).map(_._2.copy(boxes = Map.empty)).reduce(_ + _)
      sketch.copy(templates = kept.toMap.updated(Sketch.Unskippable, others))
    }
  }

  private def json(sketch: StoredSketch): Array[Byte] = {
    val root = mapper.createObjectNode()
    root.put("version", Version).put("id", sketch.id).put("day", sketch.day)
    val templates = root.putArray("templates")
    sketch.templates.toSeq.sortBy(-_._2.weight).foreach { case (t, u) =>
      val node = templates.addObject()
      val (columns, kinds) = (node.putArray("columns"), node.putArray("kinds"))
      t.uses.foreach { use =>
        columns.add(use.column)
        kinds.add(use.kind.name)
      }
      node.put("weight", math.rint(u.weight)).put("count", u.count).put("unused", u.unused)
      val boxes = node.putArray("boxes")
      u.boxes.foreach { case (b, w) =>
        val box = boxes.addObject().put("weight", math.rint(w))
        val sides = box.putArray("sides")
        b.sides.foreach { side =>
          val ends = sides.addArray()
          side.foreach(i => ends.add(i.from).add(i.until))
        }
      }
    }
    mapper.writeValueAsBytes(root)
  }

  /** @throws java.io.IOException for anything but a sketch of this version */
  def of(bytes: Array[Byte]): StoredSketch = {
    if (bytes.length > MaxBytes) wrong(s"it has ${bytes.length} bytes")
    val root = mapper.readTree(bytes)
    if (root == null || root.path("version").asInt(-1) != Version) wrong("its version is not known")
    val id = root.path("id").asText("")
    if (Try(UUID.fromString(id).toString == id).toOption.forall(!_)) wrong("it has no id")
    val templates = elements(root, "templates").map(template)
    if (templates.size > Sketch.MaxTemplates + 1) wrong("it has too many templates")
    StoredSketch(
      id,
      whole(root, "day"),
      templates.groupBy(_._1).map { case (t, same) =>
        t -> same.map(_._2).reduce(_ + _)
      })
  }

  private def template(node: JsonNode): (Template, TemplateUse) = {
    val columns = elements(node, "columns").map(text)
    val kinds = elements(node, "kinds").map(k =>
      UseKind.all.find(_.name == k.asText("")).getOrElse(wrong(s"$k is no kind")))
    if (columns.size != kinds.size || columns != columns.distinct.sorted) wrong("its columns")
    val boxes = elements(node, "boxes").map { b =>
      val sides = elements(b, "sides").map(side)
      if (sides.size != columns.size) wrong("a box has other columns")
      RankBox(sides) -> number(b, "weight")
    }
    if (boxes.size > Sketch.MaxBoxes) wrong("a template has too many boxes")
    (
      Template(columns.zip(kinds).map { case (c, k) => ColumnUse(c, k) }),
      TemplateUse(
        number(node, "weight"),
        whole(node, "count"),
        whole(node, "unused"),
        boxes.toMap))
  }

  private def side(node: JsonNode): Seq[RankInterval] = {
    val ends = node.elements().asScala.map { e =>
      if (!e.isInt) wrong(s"$e is no rank")
      e.asInt
    }.toSeq
    if (ends.isEmpty || ends.size % 2 != 0 || ends.size > 2 * ScanUse.MaxIntervals) {
      wrong("a side has no intervals")
    }
    ends.grouped(2).map { case Seq(from, until) => RankInterval(from, until) }.toList
      .map(i => if (RankInterval.isOne(i)) i else wrong(s"$i is no interval"))
  }

  private def elements(node: JsonNode, key: String): List[JsonNode] = {
    val array = node.path(key)
    if (!array.isArray) wrong(s"it has no $key")
    array.elements().asScala.toList
  }

  private def text(node: JsonNode): String =
    if (node.isTextual && node.asText.nonEmpty && node.asText.length <= MaxName) node.asText
    else wrong("a column has no name")

  private def number(node: JsonNode, key: String): Double = {
    val n = node.path(key)
    if (n.isNumber && n.asDouble >= 0 && n.asDouble < 1e30) n.asDouble else wrong(s"its $key")
  }

  private def whole(node: JsonNode, key: String): Long = {
    val n = node.path(key)
    if (n.canConvertToLong && n.isIntegralNumber && n.asLong >= 0 && n.asLong < (1L << 50)) n.asLong
    else wrong(s"its $key")
  }

  private def wrong(problem: String): Nothing = throw new IOException(s"no sketch: $problem")
}
