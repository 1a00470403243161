package io.sparkzorder.write

import scala.collection.JavaConverters._
import scala.collection.mutable

import org.apache.hadoop.fs.Path
import org.apache.parquet.column.ColumnDescriptor
import org.apache.parquet.schema.LogicalTypeAnnotation.{
  DateLogicalTypeAnnotation,
  DecimalLogicalTypeAnnotation,
  TimestampLogicalTypeAnnotation
}
import org.apache.parquet.schema.PrimitiveType

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.table.stats.{ColumnStats, ScannedFile}
import io.sparkzorder.util.ColumnLookup

/**
 * Compares the footers of rewritten files with the footers of their inputs, folder by folder.
 *
 *   - The row counts must be equal.
 *   - No column may be lost.
 *   - The null counts of a leaf outside lists and maps must be equal, if both sides have them.
 *   - The new bounds of such a leaf must lie inside the old bounds, if both sides have bounds.
 *     Bounds of strings and binaries are exempt, because some writers cut them.
 *
 * A leaf without such statistics (NaN, INT96, long strings, dates of the old calendar) is counted
 * and is not an error.
 *
 * @param sameName tells whether two column names count as the same
 */
final class Verification(target: String, sameName: (String, String) => Boolean) {

  /**
   * @param inputs footers of the replaced files
   * @param outputs footers of the new files; the `folder` of a new file is the folder of its inputs
   * @param hasDefault true for a column whose missing values read as a default, not as NULL
   * @return number of (folder, leaf) pairs that could not be compared
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_VERIFICATION_FAILED
   */
  def check(
      inputs: Seq[ScannedFile],
      outputs: Seq[ScannedFile],
      hasDefault: String => Boolean): Int = {
    val before = inputs.groupBy(_.file.folder.path)
    val after = outputs.groupBy(_.file.folder.path)
    (before.keySet ++ after.keySet).toSeq.sortBy(_.toString).map { f =>
      checkFolder(f, before.getOrElse(f, Nil), after.getOrElse(f, Nil), hasDefault)
    }.sum
  }

  private def checkFolder(
      folder: Path,
      before: Seq[ScannedFile],
      after: Seq[ScannedFile],
      hasDefault: String => Boolean): Int = {
    val (rowsBefore, rowsAfter) = (before.map(_.rows).sum, after.map(_.rows).sum)
    if (rowsBefore != rowsAfter) fail(folder, s"it had $rowsBefore rows and has $rowsAfter")
    before.map(_.schema).distinct.flatMap(_.getFields.asScala.map(_.getName)).foreach { name =>
      if (!after.forall(_.schema.getFields.asScala.exists(f => sameName(f.getName, name)))) {
        fail(folder, s"it had the column `$name` and has it no more")
      }
    }
    after.headOption.toSeq.flatMap(_.schema.getColumns.asScala).count { leaf =>
      val path = leaf.getPath.toSeq
      if (!hasDefault(path.head)) checkValues(folder, before, after, path)
      leaf.getMaxRepetitionLevel > 0 || hasDefault(path.head) || {
        val old = summary(before, path)
        val now = summary(after, path)
        !compare(folder, path.mkString("."), old, now)
      }
    }
  }

  /**
   * Compares the number of values that are not NULL, if both sides have it. ORC has it, also inside
   * lists and maps.
   */
  private def checkValues(
      folder: Path,
      before: Seq[ScannedFile],
      after: Seq[ScannedFile],
      path: Seq[String]): Unit = {
    def counts(footers: Seq[ScannedFile]) =
      footers.flatMap(f => position(f, path).map { case (i, _) => f.leaves(i).values })
    val (old, now) = (counts(before), counts(after))
    if (old.forall(_ >= 0) && now.forall(_ >= 0) && old.sum != now.sum) {
      fail(folder, s"column `${path.mkString(".")}` had ${old.sum} values and has ${now.sum}")
    }
  }

  /** Compares one leaf. True if both the null counts and the bounds could be compared. */
  private def compare(folder: Path, leaf: String, old: Leaf, now: Leaf): Boolean = {
    val nullsKnown = old.nulls >= 0 && now.nulls >= 0
    if (nullsKnown && old.nulls != now.nulls) {
      fail(folder, s"column `$leaf` had ${old.nulls} nulls and has ${now.nulls}")
    }
    val comparable = old.known && now.known && old.primitive == now.primitive
    if (comparable && now.min != null) {
      val t = old.primitive.get
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

  /** Merges a leaf's statistics over a folder. A file without the leaf counts as all NULLs. */
  private def summary(footers: Seq[ScannedFile], path: Seq[String]): Leaf =
    footers.foldLeft(Leaf(0, null, null, known = true, None)) { (sofar, f) =>
      position(f, path) match {
        case None =>
          sofar.copy(nulls = if (sofar.nulls < 0) -1 else sofar.nulls + f.rows)
        case Some((i, column)) =>
          val b = f.leaves(i)
          val t = column.getPrimitiveType
          val agrees = sofar.primitive.forall(_ == shape(t)) && !isRebased(f, t)
          Leaf(
            if (sofar.nulls < 0 || b.nulls < 0) -1 else sofar.nulls + b.nulls,
            if (b.min == null || !agrees) sofar.min else ColumnStats.least(t, sofar.min, b.min),
            if (b.max == null || !agrees) sofar.max else ColumnStats.greatest(t, sofar.max, b.max),
            sofar.known && b.known && agrees,
            Some(shape(t)))
      }
    }

  /**
   * True for dates and timestamps of Spark 1 and 2, and of the legacy mode of later versions. These
   * count days before 1582 in the Julian calendar.
   */
  private def isRebased(f: ScannedFile, t: PrimitiveType): Boolean = {
    val legacy = f.keyValues.contains("org.apache.spark.legacyDateTime") ||
      f.keyValues.get("org.apache.spark.version").exists(_.matches("[12]\\..*"))
    legacy && (t.getLogicalTypeAnnotation match {
      case _: DateLogicalTypeAnnotation | _: TimestampLogicalTypeAnnotation => true
      case _ => false
    })
  }

  private val positions = mutable.HashMap.empty[(Any, Seq[String]), Option[(Int, ColumnDescriptor)]]

  private def position(f: ScannedFile, path: Seq[String]): Option[(Int, ColumnDescriptor)] =
    positions.getOrElseUpdate(
      (f.schema, path),
      ColumnLookup.position(f.schema, path, sameName).map(i => (i, f.schema.getColumns.get(i))))

  /** A type without its name, id and repetition. Values of equal shapes can be compared. */
  private def shape(t: PrimitiveType): PrimitiveType =
    org.apache.parquet.schema.Types.optional(t.getPrimitiveTypeName).length(t.getTypeLength)
      .as(t.getLogicalTypeAnnotation).named("leaf")

  private def fail(folder: Path, problem: String): Nothing =
    throw ZOrderErrors.verificationFailed(target, s"in folder $folder $problem")

  private case class Leaf(
      nulls: Long,
      min: Any,
      max: Any,
      known: Boolean,
      primitive: Option[PrimitiveType])
}
