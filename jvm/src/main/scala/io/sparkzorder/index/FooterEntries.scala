// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index

import java.util.{IdentityHashMap, Locale}

import scala.collection.JavaConverters._
import scala.util.Try

import org.apache.parquet.{SemanticVersion, VersionParser}
import org.apache.parquet.io.api.Binary
import org.apache.parquet.schema.MessageType

import org.apache.spark.sql.catalyst.util.DateTimeConstants.MICROS_PER_DAY
import org.apache.spark.sql.catalyst.util.RebaseDateTime

import io.sparkzorder.table.stats.{ColumnStats, ScannedFile}

/**
 * Which leaf columns are indexed.
 *
 * @param columns the columns that the user named; None for the first leaf columns of each file
 * @param always the columns that are indexed in any case: the ordering columns, and the columns whose values are
 *   indexed
 */
private[sparkzorder] final case class ColumnChoice(
    columns: Option[Seq[Seq[String]]] = None,
    always: Seq[Seq[String]] = Nil) {

  /**
   * The leaf columns of one file that are indexed.
   *
   * @param leaves the leaf columns of the file outside lists and maps, in the order of the file
   */
  def of(leaves: Seq[Seq[String]]): Set[Seq[String]] = {
    val first = if (columns.isEmpty) leaves.take(ColumnChoice.First) else Nil
    (first ++ leaves.filter(isNamed)).toSet
  }

  private val named = (columns.getOrElse(Nil) ++ always).map(LeafColumns.fold(_: Seq[String])).toSet

  /**
   * True for a column that the user named or that is always indexed. False for a column that is indexed only as
   * one of the first columns of a file.
   */
  def isNamed(leaf: Seq[String]): Boolean = named(LeafColumns.fold(leaf))
}

private[sparkzorder] object ColumnChoice {

  /** The number of leaf columns of a file that are indexed if the user names no columns. */
  val First = 32
}

/**
 * Turns footers of data files into entries of the index.
 *
 * @param choice which columns are indexed
 */
private[sparkzorder] final class FooterEntries(choice: ColumnChoice) {
  // keyed by identity, because FooterReader gives files of equal schemas the same object
  private val layouts = new IdentityHashMap[MessageType, SchemaLayout]

  /** @param path the path of the data file, relative to the table's root */
  def of(footer: ScannedFile, path: String): FileEntry = {
    val layout = layouts.computeIfAbsent(footer.schema, s => new SchemaLayout(s, choice))
    val leaves = layout.indexed.map { case (i, column) =>
      FooterEntries.leaf(column, footer.leaves(i), footer)
    }
    FileEntry(path, footer.file.length, footer.file.modified, footer.rows, layout.shape, leaves)
  }
}

/**
 * What the index takes from a Parquet schema: the positions of the leaf columns that are indexed,
 * and the name and type of each in the index.
 */
private final class SchemaLayout(schema: MessageType, choice: ColumnChoice) {
  private val columns = schema.getColumns.asScala.toIndexedSeq
  val shape: LeafColumns = LeafColumns(columns.map(_.getPath.toSeq))
  // a leaf inside a list or map can have many values in one row
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
    val bounds = stats.bounds
      .filter { case (min, _) =>
        t.hasBounds && (!t.isFloating || stats.noNaN || hasBoundsBesideNaN(footer)) &&
        (!min.isInstanceOf[Binary] || footer.orc.isDefined || ordersBytes(t, footer.createdBy))
      }
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
   * Widens the bounds of an ORC timestamp by two days. ORC stores an instant as a local time, which each reader
   * interprets in its own time zone. The driver or worker that makes the entry, and the reader of a later query, may
   * have different zones. The local times of two zones differ by little more than a day.
   */
  private def inEveryZone(bounds: (Any, Any), t: LeafType, footer: ScannedFile): (Any, Any) =
    (bounds, t) match {
      case ((min: Long, max: Long), TimestampLeaf(_, true)) if footer.orc.isDefined =>
        (
          math.max(min, Long.MinValue + TwoDays) - TwoDays,
          math.min(max, Long.MaxValue - TwoDays) + TwoDays)
      case _ => bounds
    }

  private val TwoDays = 2 * MICROS_PER_DAY

  /**
   * False if a reader may convert the values from another calendar. A reader converts dates before 1582 and
   * instants before 1900 if Spark 2 or Spark's legacy mode wrote them. By a setting of the session, a reader also
   * converts the values of writers other than Spark.
   */
  private def sameInEveryCalendar(min: Any, t: LeafType, footer: ScannedFile): Boolean =
    (min, t) match {
      case (days: Long, DateLeaf) =>
        footer.isProleptic || days >= RebaseDateTime.lastSwitchJulianDay
      case (value: Long, TimestampLeaf(millis, true)) =>
        footer.isProleptic ||
        value >= (if (millis) RebaseDateTime.lastSwitchJulianTs / 1000
                  else RebaseDateTime.lastSwitchJulianTs)
      case _ => true
    }

  /**
   * True for writers whose bounds of FLOAT and DOUBLE are known to include every value but NaN. The bounds of
   * other writers may leave out further values. For example, in parquet-mr before 1.10, a page that begins with NaN
   * has NaN as its bounds. Such a page adds nothing to the bounds of its column, so the column's bounds may leave out
   * the other values of the page. Impala before 3.0, parquet-cpp before 1.4 and parquet-rs before 5.0 did the same.
   */
  private def hasBoundsBesideNaN(footer: ScannedFile): Boolean = footer.orc.isDefined ||
    (writerOf(footer.createdBy) match {
      case Some((name, version)) =>
        def isFrom(major: Int, minor: Int): Boolean =
          version.major > major || version.major == major && version.minor >= minor
        name match {
          case "parquet-mr" | "parquet-java" => isFrom(1, 10)
          case "impala" => isFrom(3, 0)
          case "parquet-cpp" => isFrom(1, 4)
          case "parquet-rs" => isFrom(5, 0)
          case other => KnownWriters.exists(other.startsWith)
        }
      case None => KnownWriters.exists(footer.createdBy.toLowerCase(Locale.ROOT).startsWith)
    })

  /**
   * True for writers that are known to compare byte strings as Parquet orders them. A DECIMAL of many digits is a signed
   * number in bytes. parquet-cpp-arrow before 4.0 compared each byte as signed (PARQUET-1655). ClickHouse, polars,
   * parquet-go and parquet-rs compared the bytes as unsigned. So the bounds of DECIMAL count only for writers that are
   * listed here. For a string, parquet-rs before 5.2 took the shorter string for the lesser (arrow-rs#641), and polars
   * took a string for equal to its beginning (polars#25886).
   */
  private def ordersBytes(t: LeafType, createdBy: String): Boolean = {
    val name = createdBy.toLowerCase(Locale.ROOT)
    val writer = writerOf(createdBy)
    def isFrom(named: String, major: Int, minor: Int) = writer.exists { case (n, version) =>
      n == named && (version.major > major || version.major == major && version.minor >= minor)
    }
    if (t.isInstanceOf[DecimalLeaf]) {
      isFrom("parquet-mr", 1, 10) || isFrom("parquet-java", 1, 10) || isFrom("impala", 3, 0) ||
      isFrom("parquet-cpp-arrow", 5, 0) || Seq("parquet-mr-trino", "duckdb").exists(name.startsWith)
    } else
      !name.startsWith("polars") && (!name.startsWith("parquet-rs") || isFrom("parquet-rs", 5, 2))
  }

  /** The name of the writer in lower case and its version. None if the text has no version of three numbers. */
  private def writerOf(createdBy: String): Option[(String, SemanticVersion)] = Try {
    val parsed = VersionParser.parse(createdBy)
    (parsed.application.toLowerCase(Locale.ROOT), SemanticVersion.parse(parsed.version))
  }.toOption

  private val KnownWriters = Seq("parquet-cpp-arrow", "parquet-mr-trino", "duckdb")

  /**
   * True if bounds of FLOAT and DOUBLE show that the column has no NaN. This holds for parquet-mr 1.10 to 1.17,
   * which drops the bounds of a chunk with NaN. Other writers may write bounds that ignore NaN. parquet-java does so
   * from 1.18 on, and counts NaN in a field that readers up to 1.17 do not know. A later version is added here only
   * when its rule is known.
   */
  private def noticesNaN(createdBy: String): Boolean = writerOf(createdBy).exists {
    // only the numbers are compared, because a snapshot of 1.18 writes as 1.18 does
    case (name, version) =>
      name == "parquet-mr" && version.major == 1 && version.minor >= 10 && version.minor <= 17
  }
}
