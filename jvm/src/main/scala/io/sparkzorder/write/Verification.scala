package io.sparkzorder.write

import java.util.IdentityHashMap

import scala.collection.JavaConverters._
import scala.collection.mutable

import org.apache.hadoop.fs.Path
import org.apache.parquet.schema.{MessageType, PrimitiveType}
import org.apache.parquet.schema.LogicalTypeAnnotation.DecimalLogicalTypeAnnotation

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.table.stats.{ColumnStats, ScannedFile}
import io.sparkzorder.util.NameLookup

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

  private val places = new LeafPlaces(sameName)

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
      hasDefault: String => Boolean): Int = checkAll(Iterator(inputs), outputs, hasDefault)

  /** @param inputs as for `check`, a part at a time; no part is kept */
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
      val defaults = hasDefault(column)
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
   * Compares the number of values that are not NULL, if both sides have it. ORC has it, also inside
   * lists and maps.
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
