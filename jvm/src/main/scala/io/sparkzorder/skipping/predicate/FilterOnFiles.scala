// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import java.util.{BitSet, HashMap => JavaHashMap}

import scala.collection.JavaConverters._
import scala.util.Try

import org.apache.hadoop.fs.FileStatus

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{DataType, NumericType, StringType, StructType}

import io.sparkzorder.index.{
  ColumnChoice,
  ColumnValues,
  FileTable,
  FooterEntries,
  IndexColumns,
  IndexContent,
  IndexedColumn,
  LeafColumns,
  LoadedIndex,
  Sized
}
import io.sparkzorder.table.stats.ScannedFile

/**
 * Whether and why one conjunct of a query's filters prunes files.
 *
 * @param predicate the conjunct as SQL
 * @param columns names of the columns in it
 * @param used whether the conjunct can prune files
 * @param reason why the conjunct cannot prune files; None when it is used
 * @param ofParts true if the conjunct reads fields or elements of the columns
 * @param advice what to write instead of a comparison of a text with numbers
 */
private[sparkzorder] final case class ConjunctUse(
    predicate: String,
    columns: Seq[String],
    used: Boolean,
    reason: Option[String],
    ofParts: Boolean = false,
    advice: Option[String] = None)

/**
 * The filters of a query, compiled for files with known bounds.
 *
 * @param filters of the query on the relation; they all must hold
 * @param columns data columns of the relation
 */
private[sparkzorder] sealed abstract class CompiledFilters(
    filters: Seq[Expression],
    columns: TableColumns,
    bounds: IndexColumns,
    caseSensitive: Boolean) {

  /** Each conjunct with its test. */
  val tested: Seq[(ConjunctUse, FileTest)] =
    FilterOnFiles.tested(filters, columns, bounds, caseSensitive)

  /** False when every file is kept. */
  val isUseful: Boolean = tested.exists(!_._2.isInstanceOf[Unknown])

  /** The files that are kept. Conjuncts on the same columns form a group, and each group prunes further files. */
  protected lazy val byGroup: KeptFiles = KeptFiles.by(
    tested.filter(_._1.used).groupBy(c => FilterOnFiles.nameOf(c._1.columns)).toSeq
      .map { case (name, same) => name -> FileTest.and(same.map(_._2)) },
    bounds.table.size)

  private lazy val keys = new KeysInFiles(columns, bounds, caseSensitive)

  /** The bytes of the files that the filters prune. */
  def bytesPruned: Long = {
    val table = bounds.table
    (0 until table.size).iterator
      .filter(i => table.isLive(i) && byGroup.decide(i) != FilePruner.Read)
      .map(table.lengths(_)).sum
  }

  /** The share of the files that one value of `key` keeps on average; None if it is not known. */
  def shareKeptBy(key: Expression): Option[Double] = keys.share(key)

  /** The least and the greatest value in the files that have bounds; None if that is not known. */
  def rangeOf(key: Expression): Option[(Long, Long)] = keys.range(key)
}

/** The filters of a query, compiled for the skipping index of one table. */
private[sparkzorder] final class FilterOnFiles private (
    filters: Seq[Expression],
    columns: TableColumns,
    index: LoadedIndex,
    caseSensitive: Boolean)
    extends CompiledFilters(filters, columns, index, caseSensitive)
    with FilePruner {

  val conjuncts: Seq[ConjunctUse] = tested.map(_._1)

  /** The files of the index, for the record of the workload. */
  private[sparkzorder] def indexedFiles: FileTable = index.table
  private[sparkzorder] def indexIdentity: AnyRef = index.entriesId

  override def prunedBy: IndexedSeq[String] = byGroup.prunedBy

  override def byEntries: Option[EntryPruner] =
    Some(new EntryPruner(index.entriesId, index.files, byGroup))

  private lazy val walk = index.files.walk()

  /** Not thread-safe. */
  override def decide(file: FileStatus): Int = {
    val i = walk.find(file)
    if (i < 0) FilePruner.NoEntry else byGroup.decide(i)
  }

  /** For each used conjunct the number of files of the index that it prunes alone. */
  def dropped: Seq[(ConjunctUse, Int)] = tested.collect {
    case (use, test) if use.used =>
      val (table, kept) = (index.table, test.files(index.table.size))
      use -> (0 until table.size).count(i => table.isLive(i) && !kept.get(i))
  }

  /** Why a used conjunct prunes no file, if cut bounds are the reason. */
  def reasonOfNone(conjunct: ConjunctUse): Option[String] =
    if (testsOf(conjunct).exists(_.column.isCutAlike)) {
      Some("the files' min and max are cut, and the same in all files")
    } else None

  /** Why a used conjunct prunes fewer files than it might, if the index of a column's values is the reason. */
  def noteOfValues(conjunct: ConjunctUse): Option[String] =
    testsOf(conjunct).collect { case t: IntervalTest => t }.flatMap(_.noteOfValues).headOption

  /**
   * What to write in place of a comparison of a text with numbers, which cannot use the index of the column's
   * values. None if a tested column has no such index.
   */
  def adviceOn(conjunct: ConjunctUse): Option[String] =
    conjunct.advice.filter(_ => testsOf(conjunct).forall(_.column.values.isDefined))

  /** The tests of single columns of a conjunct. */
  private def testsOf(conjunct: ConjunctUse): Seq[ColumnTest] = {
    def testsIn(test: FileTest): Seq[ColumnTest] = test match {
      case AllOf(inner) => inner.flatMap(testsIn)
      case AnyOf(inner) => inner.flatMap(testsIn)
      case t: ColumnTest => Seq(t)
      case _ => Nil
    }
    tested.collectFirst { case (`conjunct`, test) => testsIn(test) }.getOrElse(Nil)
  }
}

private[sparkzorder] object FilterOnFiles extends PredicateHelper {

  private[sparkzorder] def compile(
      filters: Seq[Expression],
      columns: TableColumns,
      index: LoadedIndex,
      caseSensitive: Boolean): FilterOnFiles =
    new FilterOnFiles(filters, columns, index, caseSensitive)

  /** Each conjunct of some filters with its test by an index, or by statistics that have the form of an index. */
  private[sparkzorder] def tested(
      filters: Seq[Expression],
      columns: TableColumns,
      index: IndexColumns,
      caseSensitive: Boolean): Seq[(ConjunctUse, FileTest)] = {
    val compiler = new PredicateCompiler(columns, new ColumnDomainsReader(index, caseSensitive))
    TextRanges.joined(filters.flatMap(splitConjunctivePredicates)).map { e =>
      val test = compiler(e)
      use(e, test) -> test
    }
  }

  /** The name under which files pruned by predicates on these columns count: `a`, or `(a, b)`. */
  private[sparkzorder] def nameOf(columns: Seq[String]): String =
    if (columns.size == 1) columns.head else columns.sorted.mkString("(", ", ", ")")

  /** All such names for some filters. */
  private[sparkzorder] def namesOf(filters: Seq[Expression]): Seq[String] =
    filters.flatMap(splitConjunctivePredicates).map(e => nameOf(columnsOf(e))).distinct

  private def columnsOf(e: Expression): Seq[String] = e.references.map(_.name).toSeq.distinct

  // the text of a hundred thousand keys of a join would cost more than the pruning
  private[sparkzorder] def textOf(e: Expression): String = {
    val short = e.transform {
      case InSet(child, values) if values.size > MaxValuesShown =>
        InSet(child, values.take(MaxValuesShown))
    }
    val text = Try(short.sql).getOrElse(short.toString)
    if (short fastEquals e) text else s"$text (and more values)"
  }

  private val MaxValuesShown = 100

  private def use(e: Expression, test: FileTest): ConjunctUse = {
    val reason = test match {
      case Unknown(why) => Some(why)
      case _ => None
    }
    val advice = TextAsNumber.advice(e)
    ConjunctUse(
      textOf(e),
      columnsOf(e),
      reason.isEmpty,
      if (reason.isEmpty) None else advice.orElse(reason),
      ofParts = e.exists(_.isInstanceOf[ExtractValue]),
      advice)
  }
}

/**
 * Prunes files by footers that were just read, as a query would prune them by the index.
 *
 * @param output attributes that the filters use
 * @param dataSchema what the files hold
 * @param partitionSchema what the names of directories hold
 */
private[sparkzorder] final class FilterOnFooters(
    output: Seq[Attribute],
    dataSchema: StructType,
    partitionSchema: StructType,
    conf: SQLConf) {

  /**
   * @param filters if a part of a filter is not understood, this part keeps every file
   * @return positions of the footers whose files may hold a row for which all filters are true
   */
  def apply(filters: Seq[Expression], footers: IndexedSeq[ScannedFile]): BitSet = {
    val choice = ColumnChoice(Some(leavesOf(filters, footers)))
    val entries = new FooterEntries(choice)
    val content =
      IndexContent.of(footers.zipWithIndex.map { case (f, i) => entries.of(f, i.toString) })
    val columns = new TableColumns(output, dataSchema, partitionSchema, conf.resolver)
    val compiler =
      new PredicateCompiler(columns, new ColumnDomainsReader(content, conf.caseSensitiveAnalysis))
    AllOf(filters.map(compiler(_))).files(footers.size)
  }

  /** Leaf columns below the columns that filters use. */
  private def leavesOf(filters: Seq[Expression], footers: Seq[ScannedFile]): Seq[Seq[String]] = {
    val used = filters.flatMap(_.references.map(_.name)).map(LeafColumns.fold(_: String)).toSet
    footers.map(_.schema).distinct.flatMap(_.getPaths.asScala.map(_.toSeq)).distinct
      .filter(path => used(LeafColumns.fold(path.head)))
  }
}

/**
 * Comparisons of a text column with numbers. Spark casts the column, so the texts '5', '05' and ' 5' are all
 * equal to 5, and neither the bounds of the column nor the index of its values say much.
 */
private[predicate] object TextAsNumber {

  /** What to write in the place of such a comparison in a filter; None if the filter has none. */
  def advice(filter: Expression): Option[String] =
    filter.collectFirst {
      case EqualTo(TextCast(name, t), Literal(v, _)) if v != null => text(name, t, s"= '$v'")
      case EqualTo(Literal(v, _), TextCast(name, t)) if v != null => text(name, t, s"= '$v'")
      case EqualNullSafe(TextCast(name, t), Literal(v, _)) if v != null =>
        text(name, t, s"<=> '$v'")
      case EqualNullSafe(Literal(v, _), TextCast(name, t)) if v != null =>
        text(name, t, s"<=> '$v'")
      case In(TextCast(name, t), Literal(v, _) +: _) if v != null => text(name, t, s"IN ('$v', ..)")
      case InSet(TextCast(name, t), values) if values.exists(_ != null) =>
        text(name, t, s"IN ('${values.find(_ != null).get}', ..)")
    }

  private def text(name: String, to: DataType, comparison: String): String =
    s"$name is cast to ${to.sql} for this comparison; quote the literal, as in $name $comparison"

  private object TextCast {
    def unapply(e: Expression): Option[(String, DataType)] = e match {
      case c: Cast if c.dataType.isInstanceOf[NumericType] =>
        c.child match {
          case a: Attribute if a.dataType.isInstanceOf[StringType] => Some((a.name, c.dataType))
          case _ => None
        }
      case _ => None
    }
  }
}

/**
 * Bounds of columns in the files of a table, as the table's format keeps them. The paths are spelled as in the
 * format, and the columns have the names by which the format identifies them, also after a column was renamed.
 */
private[sparkzorder] final class FileBounds(content: IndexContent) extends Sized {

  private lazy val positions: JavaHashMap[String, Integer] = {
    val map = new JavaHashMap[String, Integer](content.files.size * 2)
    (0 until content.files.size).foreach(i => map.put(content.files.path(i), i))
    map
  }

  /** The position of a file; -1 if its bounds are not known. */
  def position(path: String): Int = positions.getOrDefault(path, -1)

  /** The names of the columns with bounds. */
  def columns: Set[String] = content.columns.map(_._1.name).toSet

  /**
   * The same bounds under the names that a query has for the columns.
   *
   * @param names the names in the query, by the format's own names
   */
  def named(names: Map[String, String]): IndexColumns = new IndexColumns {
    private val chosen = content.columns.filter(c => names.contains(c._1.name))

    override val indexed: IndexedSeq[IndexedColumn] =
      chosen.map { case (c, _) => c.copy(path = Seq(names(c.name))) }

    // A file without known bounds may have the column. If it counted as a file without the column, all its rows
    // would count as NULL.
    override val shapes: IndexedSeq[LeafColumns] =
      content.shapes.map(_ => LeafColumns(names.values.map(Seq(_)).toSeq))

    override def table: FileTable = content.files
    override def column(number: Int): ColumnValues = chosen(number)._2
  }

  // the map of paths is counted from the start, although it is made later
  override def bytes: Long =
    2 * content.files.bytes + 64L * content.files.size + content.columns.map(_._2.bytes).sum
}

/** The filters of a query, compiled for the bounds that a table format keeps. */
private[sparkzorder] final class FilterOnBounds(
    filters: Seq[Expression],
    columns: TableColumns,
    bounds: IndexColumns,
    caseSensitive: Boolean)
    extends CompiledFilters(filters, columns, bounds, caseSensitive) {

  /** The positions of the files that may hold a row for which all filters are true. */
  lazy val kept: BitSet = {
    val tests = tested.map(_._2)
    (if (tests.isEmpty) AllOf(Nil) else FileTest.and(tests)).files(bounds.table.size)
  }

  /** The number of files with known bounds that the filters prune together. */
  def dropped: Int = bounds.table.size - kept.cardinality()

  /**
   * Prunes files of a listing by their paths. All tests run in this call, and none in `decide`, so the caller
   * can catch an error of a test and read all files.
   */
  def pruner(position: String => Int): FilePruner = {
    val groups = byGroup
    new FilePruner {
      override def prunedBy: IndexedSeq[String] = groups.prunedBy
      override def decide(file: FileStatus): Int = {
        val at = position(file.getPath.toString)
        if (at < 0) FilePruner.NoEntry else groups.decide(at)
      }
    }
  }
}
