// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.workload

import java.io.{FileNotFoundException, IOException}
import java.util.UUID

import scala.util.Try

import com.fasterxml.jackson.core.JsonProcessingException
import com.fasterxml.jackson.databind.DeserializationFeature._
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.internal.Logging

import io.sparkzorder.log.StateDirectory
import io.sparkzorder.util.{Directories, ExclusiveFile, Json, ManyFiles}

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
  private val MaxShown = 200

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
    val forms = sketch.templates.toSeq.sortBy(-_._2.weight).map { case (t, u) =>
      val boxes = u.boxes.toSeq.map { case (b, w) =>
        StoredBox(math.rint(w), b.sides.map(_.flatMap(i => Seq[Integer](i.from, i.until))))
      }
      val kinds = t.uses.map(_.kind.name)
      StoredForm(t.columns, kinds, math.rint(u.weight), u.count, u.unused, boxes)
    }
    Json.mapper.writeValueAsBytes(StoredFile(Version, sketch.id, sketch.day, forms))
  }

  // a record may lack what this version knows; this file must not
  private val reader = Json.mapper.readerFor(classOf[StoredFile])
    .`with`(FAIL_ON_MISSING_CREATOR_PROPERTIES, FAIL_ON_NULL_CREATOR_PROPERTIES)
    .without(ACCEPT_FLOAT_AS_INT)

  /** @throws java.io.IOException for anything but a sketch of this version */
  def of(bytes: Array[Byte]): StoredSketch = {
    require(bytes.length <= MaxBytes, s"it has ${bytes.length} bytes")
    val file =
      try reader.readValue[StoredFile](bytes)
      catch { case e: JsonProcessingException => wrong(e.getOriginalMessage) }
    require(file != null, "it is empty")
    require(file.version == Version, s"its version is ${file.version}")
    require(
      Try(UUID.fromString(file.id).toString == file.id).getOrElse(false),
      s"the id ${file.id} is no UUID")
    require(isNumber(file.day), s"the day ${file.day}")
    val forms = file.templates
    require(forms.size <= Sketch.MaxTemplates + 1, s"it has ${forms.size} forms of filters")
    StoredSketch(
      file.id,
      file.day,
      forms.map(template).groupBy(_._1).map { case (t, same) =>
        t -> TemplateUse.sum(same.map(_._2))
      })
  }

  private def template(form: StoredForm): (Template, TemplateUse) = {
    require(form != null, "a form is missing")
    val columns = form.columns
    require(
      columns.forall(c => c != null && c.nonEmpty && c.length <= MaxName) &&
        columns == columns.distinct.sorted,
      s"a form has the columns ${columns.mkString(", ")}")
    val kinds = form.kinds.flatMap(k => UseKind.all.find(_.name == k))
    require(
      kinds.size == columns.size && kinds.size == form.kinds.size,
      s"a form has the kinds ${form.kinds.mkString(", ")}")
    require(
      isNumber(form.weight) && isNumber(form.count) && isNumber(form.unused),
      s"a form has the numbers ${form.weight}, ${form.count} and ${form.unused}")
    require(form.boxes.size <= Sketch.MaxBoxes, s"a form has ${form.boxes.size} boxes")
    val boxes = form.boxes.map { b =>
      require(b != null && isNumber(b.weight) && b.sides.size == columns.size, s"a box is $b")
      RankBox(b.sides.map(side)) -> b.weight
    }
    (
      Template(columns.zip(kinds).map { case (c, k) => ColumnUse(c, k) }),
      TemplateUse(form.weight, form.count, form.unused, boxes.toMap))
  }

  private def side(ends: Seq[Integer]): Seq[RankInterval] = {
    require(
      ends != null && !ends.contains(null) && ends.nonEmpty && ends.size % 2 == 0 &&
        ends.size <= 2 * ScanUse.MaxIntervals,
      s"the ends of intervals are $ends")
    val intervals = ends.grouped(2).map(p => RankInterval(p(0), p(1))).toList
    require(
      intervals.forall(RankInterval.isOne),
      s"the ranks ${ends.mkString(", ")} are no intervals within 0 to ${RankInterval.Steps}")
    intervals
  }

  // greater ones would overflow in a sum
  private def isNumber(n: Double): Boolean = n >= 0 && n < 1e30
  private def isNumber(n: Long): Boolean = n >= 0 && n < (1L << 50)

  private def require(holds: Boolean, problem: => String): Unit = if (!holds) wrong(problem)

  private def wrong(problem: String): Nothing = throw new IOException(
    s"it is not a workload file of version $Version: ${problem.take(MaxShown)}")
}

/** The file of a sketch. */
private[sparkzorder] final case class StoredFile(
    version: Int,
    id: String,
    day: Long,
    templates: Seq[StoredForm])

/** A template and its use. */
private[sparkzorder] final case class StoredForm(
    columns: Seq[String],
    kinds: Seq[String],
    weight: Double,
    count: Long,
    unused: Long,
    boxes: Seq[StoredBox])

/** @param sides for each column both ends of each interval; boxed, as Jackson sees the elements of a Seq */
private[sparkzorder] final case class StoredBox(weight: Double, sides: Seq[Seq[Integer]])
