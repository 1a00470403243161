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
    val writer = new FooterWriter(footer.createdBy)
    val leaves = layout.indexed.map { case (i, column) =>
      FooterEntries.leaf(column, footer.leaves(i), footer, writer)
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

  def leaf(
      column: IndexedColumn,
      stats: ColumnStats,
      footer: ScannedFile,
      writer: FooterWriter): LeafEntry = {
    val t = column.leafType
    val isOrc = footer.orc.isDefined
    val bounds = stats.bounds
      .filter { case (min, _) =>
        t.hasBounds && (!t.isFloating || stats.noNaN || isOrc || writer.hasBoundsBesideNaN) &&
        (!min.isInstanceOf[Binary] || isOrc || writer.ordersBytes(t))
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
          (stats.noNaN || writer.noticesNaN)))
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
}

/**
 * What is known of the program that wrote a footer.
 *
 * @param createdBy the program and its version, as the footer says
 */
private final class FooterWriter(createdBy: String) {

  // the name in lower case and the version; None if the text has no version of three numbers
  private lazy val nameAndVersion: Option[(String, SemanticVersion)] = Try {
    val parsed = VersionParser.parse(createdBy)
    (parsed.application.toLowerCase(Locale.ROOT), SemanticVersion.parse(parsed.version))
  }.toOption

  /** True for this writer, from a version on. Only the numbers are compared: a snapshot of 1.18 writes as 1.18 does. */
  private def isFrom(writer: String, major: Int, minor: Int): Boolean =
    nameAndVersion.exists { case (name, version) =>
      name == writer && (version.major > major || version.major == major && version.minor >= minor)
    }

  private def isParquetJava: Boolean = isFrom("parquet-mr", 1, 10) || isFrom("parquet-java", 1, 10)

  private def isOneOf(names: String*): Boolean =
    names.exists(createdBy.toLowerCase(Locale.ROOT).startsWith(_))

  /**
   * True for writers whose bounds of FLOAT and DOUBLE are known to include every value but NaN. The bounds of
   * other writers may leave out further values. For example, in parquet-mr before 1.10, a page that begins with NaN
   * has NaN as its bounds. Such a page adds nothing to the bounds of its column, so the column's bounds may leave out
   * the other values of the page. Impala before 3.0, parquet-cpp before 1.4 and parquet-rs before 5.0 did the same.
   */
  def hasBoundsBesideNaN: Boolean = isParquetJava || isFrom("impala", 3, 0) ||
    isFrom("parquet-cpp", 1, 4) || isFrom("parquet-rs", 5, 0) ||
    isOneOf("parquet-cpp-arrow", "parquet-mr-trino", "duckdb")

  /**
   * True for writers that are known to compare byte strings as Parquet orders them. A DECIMAL of many digits is a
   * signed number in bytes. An old parquet-cpp-arrow compared each byte as signed (PARQUET-1655, mended in 2021), so
   * versions before 5.0 do not count. ClickHouse, polars, parquet-go and parquet-rs compared the bytes as unsigned.
   * So the bounds of DECIMAL count only for writers that are listed here. For a string, parquet-rs before 5.2 took the
   * shorter string for the lesser (arrow-rs#641), and polars took a string for equal to its beginning (polars#25886).
   */
  def ordersBytes(t: LeafType): Boolean = t match {
    case _: DecimalLeaf => isParquetJava || isFrom("impala", 3, 0) ||
      isFrom("parquet-cpp-arrow", 5, 0) || isOneOf("parquet-mr-trino", "duckdb")
    case _ => !isOneOf("polars", "parquet-rs") || isFrom("parquet-rs", 5, 2)
  }

  /**
   * True if bounds of FLOAT and DOUBLE show that the column has no NaN. This holds for parquet-mr 1.10 to 1.17,
   * which drops the bounds of a chunk with NaN. Other writers may write bounds that ignore NaN. parquet-java does so
   * from 1.18 on, and counts NaN in a field that readers up to 1.17 do not know. A later version is added here only
   * when its rule is known.
   */
  def noticesNaN: Boolean = isFrom("parquet-mr", 1, 10) && !isFrom("parquet-mr", 1, 18)
}
