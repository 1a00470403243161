// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.workload

import java.io.{FileNotFoundException, IOException}
import java.util.UUID

import scala.collection.JavaConverters._
import scala.util.Try

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.internal.Logging

import io.sparkzorder.log.StateDirectory
import io.sparkzorder.util.{Directories, ExclusiveFile, ManyFiles}

/** The files `_zorder/_workload/_<day>_<random>` of a table: one for each driver and day. */
private[sparkzorder] final class WorkloadStore(state: StateDirectory, conf: Configuration)
    extends Logging {
  import WorkloadStore._

  private val directory = new Path(state.home, Name)

  /**
   * Writes a sketch. Readers see the whole file or none.
   *
   * @param before the file that the sketch replaces
   * @return the new file
   * @throws java.io.FileNotFoundException if `before` or the state of the table was removed
   */
  private[workload] def write(sketch: StoredSketch, before: Option[Path]): Path = {
    state.requireNoLinks()
    // a table that was overwritten or dropped gets no new state
    (state.home +: before.toSeq).find(!state.fs.exists(_))
      .foreach(p => throw new FileNotFoundException(p.toString))
    Directories.makeLikeParent(state.fs, directory, conf)
    val path = new Path(directory, s"_${sketch.day}_${UUID.randomUUID()}")
    val made = ExclusiveFile
      .create(state.fs, path, UUID.randomUUID().toString, SketchFormat.toBytes(sketch), conf)
    if (!made) throw new IOException(s"$path exists")
    before.foreach(state.fs.delete(_, false))
    path
  }

  /**
   * The sketches of the last [[WorkloadStore.KeptDays]] days. A file that cannot be read is ignored. A driver that
   * died while it replaced its file may have left two files for a day; the file with more scans is used.
   *
   * @param mostBytes how many bytes are read, the newest files first: who may write into the table must not fill the
   *   memory of a driver
   */
  private[workload] def read(today: Long, mostBytes: Long = MostBytes): Seq[StoredSketch] = {
    val found = files().filter(f => dayOf(f).exists(d => today - d < KeptDays && d <= today + 1))
      .sortBy(f => (-dayOf(f).get, f.getPath.getName)).take(MaxFiles)
    val ends = found.map(_.getLen).scanLeft(0L)(_ + _).drop(1)
    val recent = found.zip(ends).takeWhile(_._2 <= mostBytes).map(_._1)
    val sketches = ManyFiles.map(recent)(sketchOf).flatten
    sketches.groupBy(s => (s.id, s.day)).values.map(_.maxBy(_.count)).toSeq
      .sortBy(s => (s.day, s.id))
  }

  private def sketchOf(file: FileStatus): Option[StoredSketch] =
    try {
      if (file.getLen > SketchFormat.MaxBytes) throw new IOException(
        s"it has ${file.getLen} bytes, and at most ${SketchFormat.MaxBytes} are read")
      val bytes = new Array[Byte](file.getLen.toInt)
      val in = state.fs.open(file.getPath)
      try in.readFully(bytes)
      finally in.close()
      Some(SketchFormat.of(bytes)).filter(s => dayOf(file).contains(s.day))
    } catch {
      case _: FileNotFoundException => None
      case e: IOException =>
        logInfo(
          s"the scans in ${file.getPath} are ignored: ${e.getMessage}. This file does no harm, and may " +
            "be deleted.")
        None
    }

  /**
   * The files that a clean-up removes: sketches that are older than [[WorkloadStore.KeptDays]] days, and
   * temporary files of earlier days, which a writer has left behind.
   *
   * @param all true to remove every file
   */
  def expired(today: Long, all: Boolean): Seq[FileStatus] =
    files(everything = true).filter { f =>
      val day = dayOf(f).getOrElse(f.getModificationTime / DayMs)
      all || today - day >= KeptDays || (dayOf(f).isEmpty && today > day)
    }

  /** @return false if the file could not be removed */
  def remove(file: FileStatus): Boolean =
    try Directories.remove(state.fs, file.getPath, recursive = false)
    catch { case _: IOException => false }

  private def files(everything: Boolean = false): Seq[FileStatus] = {
    state.requireNoLinks()
    state.readableFiles(directory).filter(f => f.isFile && (everything || dayOf(f).isDefined))
  }

  private def dayOf(file: FileStatus): Option[Long] = file.getPath.getName match {
    case FileName(day) => Try(day.toLong).toOption
    case _ => None
  }
}

private[sparkzorder] object WorkloadStore {
  val Name = "_workload"

  /** How many days a file is kept. */
  val KeptDays = 30
  private val MaxFiles = 5000
  private val MostBytes = 64L * 1024 * 1024
  private val DayMs = 24L * 3600 * 1000
  private val FileName = "_(\\d{1,7})_[0-9a-f-]{36}".r

  def today: Long = System.currentTimeMillis() / DayMs
}

/**
 * A sketch as it is stored in a file.
 *
 * @param id identifies the driver, which replaces its sketch of a day every few minutes
 * @param day days since 1970 in UTC
 */
private[workload] final case class StoredSketch(
    id: String,
    day: Long,
    templates: Map[Template, TemplateUse]) {

  /** The number of recorded scans. */
  def count: Long = templates.values.map(_.count).sum

  /** Without the names of excluded columns. The scans still count, as scans that skip no file. */
  def without(excluded: String => Boolean): StoredSketch = {
    val (out, kept) = templates.partition(_._1.columns.exists(excluded))
    if (out.isEmpty) this
    else {
      val rest = kept.get(Sketch.Unskippable).toSeq ++ out.values.map(_.copy(boxes = Map.empty))
      copy(templates = kept.updated(Sketch.Unskippable, TemplateUse.sum(rest)))
    }
  }
}

/**
 * The bytes of a sketch: JSON with names of columns, kinds and numbers. A user who may write into the
 * table's directory may have written the file, so everything is checked when it is read.
 */
private[workload] object SketchFormat {
  val Version = 1
  val MaxBytes = 64 * 1024
  private val MaxName = 1024
  private val MaxShown = 100
  private val mapper = new ObjectMapper()

  /** At most `MaxBytes` bytes. To fit, boxes are left out first, then templates, the lightest first. */
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
      // the scans of dropped templates count among the scans that skip no file
      val (rest, sorted) = sketch.templates.toSeq.sortBy(-_._2.weight)
        .partition(_._1 == Sketch.Unskippable)
      val (kept, dropped) = sorted.splitAt(sorted.size / 2)
      val others = TemplateUse.sum((rest ++ dropped).map(_._2.copy(boxes = Map.empty)))
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
    if (bytes.length > MaxBytes)
      wrong(s"it has ${bytes.length} bytes, and at most $MaxBytes are read")
    val root = mapper.readTree(bytes)
    if (root == null) wrong("it is empty")
    val version = root.path("version")
    if (version.asInt(-1) != Version) wrong(s"its version is ${shown(version)}")
    val id = root.path("id").asText("")
    if (Try(UUID.fromString(id).toString == id).toOption.forall(!_)) {
      wrong(s"its id is ${id.take(MaxShown)}, which is not a UUID")
    }
    val templates = elements(root, "templates").map(template)
    if (templates.size > Sketch.MaxTemplates + 1) {
      wrong(
        s"it has ${templates.size} forms of filters, and at most ${Sketch.MaxTemplates} are written")
    }
    StoredSketch(
      id,
      whole(root, "day"),
      templates.groupBy(_._1).map { case (t, same) =>
        t -> TemplateUse.sum(same.map(_._2))
      })
  }

  private def template(node: JsonNode): (Template, TemplateUse) = {
    val columns = elements(node, "columns").map(text)
    val kinds = elements(node, "kinds").map(k =>
      UseKind.all.find(_.name == k.asText("")).getOrElse(wrong(
        s"a filter is of the kind ${shown(k)}")))
    if (columns.size != kinds.size || columns != columns.distinct.sorted) {
      val names = columns.mkString(", ").take(MaxShown)
      wrong(s"a form has the columns $names: they must differ, be sorted and have a kind each")
    }
    val boxes = elements(node, "boxes").map { b =>
      val sides = elements(b, "sides").map(side)
      if (sides.size != columns.size)
        wrong(s"a box has ${sides.size} columns, and its form has ${columns.size}")
      RankBox(sides) -> number(b, "weight")
    }
    if (boxes.size > Sketch.MaxBoxes)
      wrong(s"a form has ${boxes.size} boxes, and at most ${Sketch.MaxBoxes} are written")
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
      if (!e.isInt) wrong(s"a rank is ${shown(e)}, which is not a whole number")
      e.asInt
    }.toSeq
    if (ends.isEmpty || ends.size % 2 != 0 || ends.size > 2 * ScanUse.MaxIntervals) {
      wrong(s"a column has ${ends.size} ends of intervals, and 2 to ${2 * ScanUse.MaxIntervals} in pairs are written")
    }
    ends.grouped(2).map { case Seq(from, until) => RankInterval(from, until) }.toList
      .map(i =>
        if (RankInterval.isOne(i)) i
        else wrong(
          s"ranks from ${i.from} to ${i.until} are no interval within 0 to ${RankInterval.Steps}"))
  }

  private def elements(node: JsonNode, key: String): List[JsonNode] = {
    val array = node.path(key)
    if (!array.isArray) wrong(s"$key is ${shown(array)}, which is not a list")
    array.elements().asScala.toList
  }

  private def text(node: JsonNode): String =
    if (node.isTextual && node.asText.nonEmpty && node.asText.length <= MaxName) node.asText
    else wrong(
      s"the name of a column is ${shown(node)}, which is not a text of 1 to $MaxName characters")

  private def number(node: JsonNode, key: String): Double = {
    val n = node.path(key)
    if (n.isNumber && n.asDouble >= 0 && n.asDouble < 1e30) n.asDouble
    else wrong(s"$key is ${shown(n)}, which is not a number from 0 on")
  }

  private def whole(node: JsonNode, key: String): Long = {
    val n = node.path(key)
    if (n.canConvertToLong && n.isIntegralNumber && n.asLong >= 0 && n.asLong < (1L << 50)) n.asLong
    else wrong(s"$key is ${shown(n)}, which is not a whole number from 0 on")
  }

  private def shown(node: JsonNode): String =
    if (node.isMissingNode) "missing" else node.toString.take(MaxShown)

  private def wrong(problem: String): Nothing =
    throw new IOException(s"it is not a workload file of version $Version: $problem")
}
