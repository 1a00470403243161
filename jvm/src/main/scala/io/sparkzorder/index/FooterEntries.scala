package io.sparkzorder.index

import java.util.{IdentityHashMap, Locale}

import scala.collection.JavaConverters._
import scala.util.Try

import org.apache.parquet.{SemanticVersion, VersionParser}
import org.apache.parquet.schema.MessageType

import org.apache.spark.sql.catalyst.util.{DateTimeConstants, RebaseDateTime}

import io.sparkzorder.table.stats.{ColumnStats, ScannedFile}

/**
 * Which leaf columns are indexed.
 *
 * @param columns those that the user named; None for the first ones of each file
 * @param always indexed besides the first ones: the ordering columns
 */
final case class ColumnChoice(
    columns: Option[Seq[Seq[String]]] = None,
    always: Seq[Seq[String]] = Nil) {

  /** @param leaves leaf columns of a file that lie in no list or map, in their order */
  def of(leaves: Seq[Seq[String]]): Set[Seq[String]] = {
    val named = (columns.getOrElse(Nil) ++ always).map(LeafColumns.fold(_: Seq[String])).toSet
    val first = if (columns.isEmpty) leaves.take(ColumnChoice.First) else Nil
    (first ++ leaves.filter(l => named(LeafColumns.fold(l)))).toSet
  }
}

object ColumnChoice {

  /** So many leaf columns are indexed when nothing else is said. */
  val First = 32
}

/**
 * Footers as entries of the index.
 *
 * @param choice which columns are indexed
 */
final class FooterEntries(choice: ColumnChoice) {
  // files with the same schema share one schema object, see FooterReader
  private val layouts = new IdentityHashMap[MessageType, SchemaLayout]

  /** @param path of the file relative to the table's root */
  def of(footer: ScannedFile, path: String): FileEntry = {
    val layout = layouts.computeIfAbsent(footer.schema, s => new SchemaLayout(s, choice))
    val leaves = layout.indexed.map { case (i, column) =>
      FooterEntries.leaf(column, footer.leaves(i), footer)
    }
    FileEntry(path, footer.file.length, footer.file.modified, footer.rows, layout.shape, leaves)
  }
}

/** What a Parquet schema gives to the index: positions of leaf columns and what they are called there. */
private final class SchemaLayout(schema: MessageType, choice: ColumnChoice) {
  private val columns = schema.getColumns.asScala.toIndexedSeq
  val shape: LeafColumns = LeafColumns(columns.map(_.getPath.toSeq))
  // a leaf inside a list or map has many values a row
  private val single = columns.indices.filter(columns(_).getMaxRepetitionLevel == 0)
  private val chosen = choice.of(single.map(shape.leaves))

  val indexed: IndexedSeq[(Int, IndexedColumn)] = single
    .filter(i => chosen(shape.leaves(i)) && !shape.isAmbiguous(shape.leaves(i)))
    .map(i => i -> IndexedColumn(shape.leaves(i), LeafType.of(columns(i).getPrimitiveType)))
    .filter(_._2.leafType != OtherLeaf)
}

private object FooterEntries {

  def leaf(column: IndexedColumn, stats: ColumnStats, footer: ScannedFile): LeafEntry = {
    val t = column.leafType
    val bounds = stats.bounds.filter(_ => t.hasBounds)
      .flatMap { case (min, max) => IndexValue.bounds(min, max, t) }
    val kept = bounds.filter { case (min, _) => sameInEveryCalendar(min, t, footer) }
      .map(inEveryZone(_, t, footer))
    LeafEntry(
      column,
      ColumnStats(
        stats.nulls,
        kept.map(_._1).orNull,
        kept.map(_._2).orNull,
        known = kept.isDefined,
        noNaN = t.isFloating && bounds.isDefined &&
          (stats.noNaN || noticesNaN(footer.createdBy))))
  }

  /**
   * ORC stores an instant as a local time, which each reader takes in its own zone: the driver that makes
   * the entry, a worker, or a later session. The clocks of two zones differ by little more than a day.
   */
  private def inEveryZone(bounds: (Any, Any), t: LeafType, footer: ScannedFile): (Any, Any) =
    (bounds, t) match {
      case ((min: Long, max: Long), TimestampLeaf(_, true)) if footer.orc.isDefined =>
        (min - TwoDays, if (max > Long.MaxValue - TwoDays) Long.MaxValue else max + TwoDays)
      case _ => bounds
    }

  private val TwoDays = 2 * DateTimeConstants.MICROS_PER_DAY

  /**
   * False for dates before 1582 and instants before 1900 that a reader may convert from another calendar:
   * those of Spark 2, of Spark's legacy mode and, by a setting of the session, of other writers.
   */
  private def sameInEveryCalendar(min: Any, t: LeafType, footer: ScannedFile): Boolean =
    (min, t) match {
      case (days: Long, DateLeaf) =>
        isProleptic(footer) || days >= RebaseDateTime.lastSwitchJulianDay
      case (value: Long, TimestampLeaf(millis, true)) =>
        isProleptic(footer) ||
        value >= (if (millis) RebaseDateTime.lastSwitchJulianTs / 1000
                  else RebaseDateTime.lastSwitchJulianTs)
      case _ => true
    }

  // as Spark's DataSourceUtils decides it
  private def isProleptic(footer: ScannedFile): Boolean =
    footer.keyValues.get("org.apache.spark.version").exists(_ >= "3.0.0") &&
      !footer.keyValues.contains("org.apache.spark.legacyDateTime")

  /**
   * True for writers that drop the bounds of a chunk with NaN: parquet-mr from 1.10 to 1.17. Other
   * writers leave NaN out of the bounds. So does parquet-java from 1.18 on: it counts NaN beside them, in a
   * field that readers up to 1.17 do not know. A later version is trusted only once its rule is known.
   */
  private def noticesNaN(createdBy: String): Boolean = Try {
    val parsed = VersionParser.parse(createdBy)
    val version = SemanticVersion.parse(parsed.version)
    // the numbers alone: a snapshot of 1.18 writes as 1.18 does
    parsed.application.toLowerCase(Locale.ROOT) == "parquet-mr" &&
    version.major == 1 && version.minor >= 10 && version.minor <= 17
  }.getOrElse(false)
}
