// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.write

import java.util.IdentityHashMap

import scala.collection.JavaConverters._
import scala.collection.mutable

import org.apache.hadoop.fs.Path
import org.apache.parquet.schema.{MessageType, PrimitiveType}
import org.apache.parquet.schema.LogicalTypeAnnotation.{
  DateLogicalTypeAnnotation,
  DecimalLogicalTypeAnnotation,
  TimestampLogicalTypeAnnotation,
  TimeUnit
}

import org.apache.spark.sql.catalyst.util.RebaseDateTime

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.table.stats.{ColumnStats, ScannedFile}
import io.sparkzorder.util.{ColumnLookup, NameLookup}

/**
 * Compares the footers of rewritten files with the footers of their inputs, folder by folder.
 *
 *   - The row counts must be equal.
 *   - No column may be lost.
 *   - The null counts of a leaf outside lists and maps must be equal, if both sides have them.
 *   - The new bounds of such a leaf must lie inside the old bounds, if both sides have bounds.
 *     Bounds of strings and binaries are exempt, because some writers cut them.
 *
 * A leaf may lack such statistics: a column with NaN, an INT96 column, long strings, dates of the old calendar.
 * Such a leaf is counted, and is not an error.
 *
 * @param sameName tells whether two column names count as the same
 */
private[sparkzorder] final class Verification(
    target: String,
    sameName: (String, String) => Boolean) {

  private val places = new LeafPlaces(sameName)

  /**
   * @param inputs footers of the replaced files, a part at a time; no part is kept
   * @param outputs footers of the new files; the `folder` of a new file is the folder of its inputs
   * @param hasDefault true for a column whose missing values read as a default, not as NULL
   * @return number of (folder, leaf) pairs that could not be compared
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_VERIFICATION_FAILED
   */
  def checkAll(
      inputs: Iterator[Seq[ScannedFile]],
      outputs: Seq[ScannedFile],
      hasDefault: String => Boolean): Int = {
    val written = outputs.groupBy(_.file.folder.path)
    val before = mutable.HashMap.empty[Path, FolderSummary]
    def summary(folder: Path) =
      new FolderSummary(written.get(folder).map(_.head.schema).orNull, places)
    inputs.foreach(_.foreach { f =>
      val folder = f.file.folder.path
      before.getOrElseUpdate(folder, summary(folder)).add(f)
    })
    (before.keySet ++ written.keySet).toSeq.sortBy(_.toString).map { folder =>
      val after = summary(folder)
      written.getOrElse(folder, Nil).foreach(after.add)
      checkFolder(
        folder,
        before.getOrElse(folder, summary(folder)),
        after,
        written.getOrElse(folder, Nil),
        hasDefault)
    }.sum
  }

  private def checkFolder(
      folder: Path,
      before: FolderSummary,
      after: FolderSummary,
      written: Seq[ScannedFile],
      hasDefault: String => Boolean): Int = {
    if (before.rows != after.rows) {
      fail(folder, s"it had ${before.rows} rows and has ${after.rows}")
    }
    checkColumns(folder, before, written)
    val leaves = written.headOption.toSeq.flatMap(_.schema.getColumns.asScala)
    leaves.zipWithIndex.count { case (leaf, i) =>
      val column = leaf.getPath.head
      lazy val name = leaf.getPath.mkString(".")
      // If a file lacks the column, its rows have the default in the new files. No footer tells the default.
      val defaults = hasDefault(column) && before.lacks(i)
      if (!defaults) checkValues(folder, name, before.stats(i), after.stats(i))
      leaf.getMaxRepetitionLevel > 0 || defaults || !compare(folder, name, i, before, after)
    }
  }

  private def checkColumns(folder: Path, before: FolderSummary, written: Seq[ScannedFile]): Unit = {
    val schemas = new IdentityHashMap[MessageType, MessageType]
    written.foreach(f => schemas.put(f.schema, f.schema))
    schemas.keySet.asScala.foreach { schema =>
      val fields = new NameLookup(schema.getFields.asScala.map(_.getName).toSeq, sameName)
      before.columns.find(!fields.contains(_)).foreach { name =>
        fail(folder, s"it had the column `$name` and has it no more")
      }
    }
  }

  /**
   * Compares the number of values that are not NULL, if the footers of both sides have it. Footers of ORC have
   * it, also for values inside lists and maps.
   */
  private def checkValues(
      folder: Path,
      leaf: String,
      old: ColumnStats,
      now: ColumnStats): Unit =
    if (old.values >= 0 && now.values >= 0 && old.values != now.values) {
      fail(folder, s"column `$leaf` had ${old.values} values and has ${now.values}")
    }

  /** Compares one leaf. True if both the null counts and the bounds could be compared. */
  private def compare(
      folder: Path,
      leaf: String,
      i: Int,
      before: FolderSummary,
      after: FolderSummary): Boolean = {
    val (old, now) = (before.stats(i), after.stats(i))
    val nullsKnown = old.nulls >= 0 && now.nulls >= 0
    if (nullsKnown && old.nulls != now.nulls) {
      fail(folder, s"column `$leaf` had ${old.nulls} nulls and has ${now.nulls}")
    }
    val comparable = old.known && now.known && before.shape(i) == after.shape(i)
    if (comparable && now.min != null) {
      val t = before.shape(i).get
      val inside = old.min != null && ColumnStats.compare(t, now.min, old.min) >= 0 &&
        ColumnStats.compare(t, now.max, old.max) <= 0
      // other writers may cut the bounds of strings, and do not always round the maximum up
      val truncated = t.getPrimitiveTypeName == PrimitiveType.PrimitiveTypeName.BINARY &&
        !t.getLogicalTypeAnnotation.isInstanceOf[DecimalLogicalTypeAnnotation]
      if (!inside && !truncated) {
        fail(
          folder,
          s"column `$leaf` had values from ${old.min} to ${old.max} and has some from " +
            s"${now.min} to ${now.max}")
      }
      nullsKnown && inside
    } else nullsKnown && comparable
  }

  private def fail(folder: Path, problem: String): Nothing =
    throw ZOrderErrors.verificationFailed(target, s"in folder $folder $problem")
}

/**
 * The footers of some files of one folder, merged. Takes one file after the other and keeps none.
 *
 * @param schema whose leaves are merged; null for a folder of which only the rows are counted
 * @param places finds the positions of these leaves in other files
 */
private[write] final class FolderSummary(schema: MessageType, places: LeafPlaces) {
  private val leaves =
    if (schema == null) IndexedSeq.empty else schema.getColumns.asScala.toIndexedSeq
  private val merged = Array.fill(leaves.size)(ColumnStats.none.copy(values = 0L))
  private val shapes = new Array[PrimitiveType](leaves.size)
  private val lacking = new Array[Boolean](leaves.size)
  private val seen = new IdentityHashMap[MessageType, MessageType]
  private var sum = 0L

  /** Names of the columns of all files. */
  val columns: mutable.Set[String] = mutable.LinkedHashSet.empty

  def rows: Long = sum

  /** The statistics of a leaf. The bounds are unknown where the files disagree on its type. */
  def stats(leaf: Int): ColumnStats = merged(leaf)

  /** The type of a leaf without its name; None when no file has it. */
  def shape(leaf: Int): Option[PrimitiveType] = Option(shapes(leaf))

  /** True if some file with rows lacks the leaf. */
  def lacks(leaf: Int): Boolean = lacking(leaf)

  def add(f: ScannedFile): Unit = {
    sum += f.rows
    if (seen.put(f.schema, f.schema) == null) {
      f.schema.getFields.asScala.foreach(field => columns += field.getName)
    }
    if (leaves.nonEmpty) {
      val at = places.of(schema, f.schema)
      val absent = ColumnStats.onlyNulls(f.rows).copy(values = 0L)
      // ORC notes the calendar in each file, and its statistics are converted with it
      val isSureOfDates = f.orc.isDefined || f.isProleptic
      leaves.indices.foreach { i =>
        val position = at.positions(i)
        if (position == LeafPlaces.Absent && f.rows > 0) lacking(i) = true
        val own =
          if (position == LeafPlaces.Elsewhere) ColumnStats.unknown
          else if (position < 0) absent
          else known(i, at, isSureOfDates, f.leaves(position))
        // values are compared in the order of the files' own type, which may not be the type in `schema`
        val shape = Option(shapes(i)).getOrElse(leaves(i).getPrimitiveType)
        merged(i) = ColumnStats.merged(shape, merged(i), own)
      }
    }
  }

  /**
   * The statistics of a leaf in a file. The bounds are left out if earlier files have another type, or if a
   * reader may convert some values from the Julian calendar.
   */
  private def known(
      i: Int,
      at: LeafPlaces.InFile,
      isSureOfDates: Boolean,
      own: ColumnStats): ColumnStats = {
    val before = shapes(i)
    shapes(i) = at.shapes(i)
    val isSure = isSureOfDates || FolderSummary.isSameInBothCalendars(own, at.shapes(i))
    if ((before == null || before == shapes(i)) && isSure) own
    else own.copy(min = null, max = null, known = false)
  }
}

private object FolderSummary {

  /** False if a reader may convert some values of this leaf from the Julian calendar. */
  private def isSameInBothCalendars(stats: ColumnStats, shape: PrimitiveType): Boolean =
    (shape.getLogicalTypeAnnotation, stats.min) match {
      case (_: DateLogicalTypeAnnotation, days: Number) =>
        days.longValue >= RebaseDateTime.lastSwitchJulianDay
      case (t: TimestampLogicalTypeAnnotation, value: Number) =>
        // no reader converts nanoseconds, and none of them lies before the year 1677
        t.getUnit == TimeUnit.NANOS || {
          val micros = if (t.getUnit == TimeUnit.MILLIS) 1000L else 1L
          value.longValue >= RebaseDateTime.lastSwitchJulianTs / micros
        }
      case _ => true
    }
}

/** Finds the leaves of one schema in files of other schemas. Each pair of schemas is compared once. */
private[write] final class LeafPlaces(sameName: (String, String) => Boolean) {
  private val known =
    new IdentityHashMap[MessageType, IdentityHashMap[MessageType, LeafPlaces.InFile]]
  private val shapes = mutable.HashMap.empty[PrimitiveType, PrimitiveType]

  /** Pairs of schemas that were compared. */
  private[write] var compared = 0

  def of(schema: MessageType, file: MessageType): LeafPlaces.InFile = {
    var inFiles = known.get(schema)
    if (inFiles == null) {
      inFiles = new IdentityHashMap
      known.put(schema, inFiles)
    }
    var place = inFiles.get(file)
    if (place == null) {
      place = find(schema, file)
      inFiles.put(file, place)
    }
    place
  }

  private def find(schema: MessageType, file: MessageType): LeafPlaces.InFile = {
    compared += 1
    val lookup = new ColumnLookup(file, sameName)
    val types = file.getColumns.asScala.map(_.getPrimitiveType).toArray
    val (inSchema, inFile) = (typedValues(schema), typedValues(file))
    val positions = schema.getColumns.asScala.map { c =>
      val path = c.getPath.toSeq
      val group = path.init.map(NameLookup.folded)
      if (path.last == "value" && inFile(group) && !inSchema(group)) LeafPlaces.Elsewhere
      else lookup.position(path).getOrElse(LeafPlaces.Absent)
    }.toArray
    new LeafPlaces.InFile(
      positions,
      positions.map(p => if (p < 0) null else shape(types(p))))
  }

  /** The groups that have a part named `typed_value`, as a shredded VARIANT has. */
  private def typedValues(schema: MessageType): Set[Seq[String]] =
    schema.getColumns.asScala.flatMap { c =>
      val path = c.getPath.toSeq
      path.indices.filter(path(_) == "typed_value").map(path.take(_).map(NameLookup.folded))
    }.toSet

  /** A type without its name, id and repetition. Values of equal shapes can be compared. */
  private def shape(t: PrimitiveType): PrimitiveType = {
    val bare =
      org.apache.parquet.schema.Types.optional(t.getPrimitiveTypeName).length(t.getTypeLength)
        .as(t.getLogicalTypeAnnotation).named("leaf")
    shapes.getOrElseUpdate(bare, bare)
  }
}

private[write] object LeafPlaces {

  /** Stands for the position of a leaf that a file lacks. Each row of the file has NULL there. */
  val Absent: Int = -1

  /**
   * Stands for the position of a VARIANT's value in a file that holds the value in parts, because the VARIANT is
   * shredded there. The statistics of the parts say nothing about the whole value.
   */
  val Elsewhere: Int = -2

  /** The position and the type of each leaf in a file. The type is null without a position. */
  final class InFile(val positions: Array[Int], val shapes: Array[PrimitiveType])
}
