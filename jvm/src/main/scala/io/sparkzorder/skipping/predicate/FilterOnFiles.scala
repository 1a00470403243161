// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import java.util.BitSet

import scala.collection.JavaConverters._
import scala.util.Try

import org.apache.hadoop.fs.FileStatus

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{DataType, NumericType, StringType, StructType}

import io.sparkzorder.index.{
  ColumnChoice,
  FileTable,
  FooterEntries,
  IndexColumns,
  IndexContent,
  LeafColumns,
  LoadedIndex,
  PathLookup
}
import io.sparkzorder.table.stats.ScannedFile

/**
 * Whether and why one conjunct of a query's filters prunes files.
 *
 * @param predicate the conjunct as SQL
 * @param columns names of the columns in it
 * @param used whether it can keep files from being read
 * @param reason why it cannot; None when it is used
 * @param ofParts true if it asks for fields or elements of the columns
 * @param advice what to write instead of a comparison of a text with numbers
 */
private[sparkzorder] final case class ConjunctUse(
    predicate: String,
    columns: Seq[String],
    used: Boolean,
    reason: Option[String],
    ofParts: Boolean = false,
    advice: Option[String] = None)

/** The files that some filters of a query keep, by one index. */
private[sparkzorder] final class FilterOnFiles private (
    index: LoadedIndex,
    tests: Seq[FileTest],
    val conjuncts: Seq[ConjunctUse],
    keys: KeysInFiles)
    extends FilePruner {

  /** The share of the files that one value of `key` keeps on average; None if it is not known. */
  private[skipping] def shareKeptBy(key: Expression): Option[Double] = keys.share(key)

  /** The least and the greatest value in all files of the index; None if that is not known. */
  private[skipping] def rangeOf(key: Expression): Option[(Long, Long)] = keys.range(key)

  /** Each conjunct with its test, and the files of the index, for the record of the workload. */
  private[sparkzorder] def tested: Seq[(ConjunctUse, FileTest)] = conjuncts.zip(tests)
  private[sparkzorder] def indexedFiles: FileTable = index.table
  private[sparkzorder] def indexIdentity: AnyRef = index.identity

  /** False when every file is kept. */
  val isUseful: Boolean = tests.exists(!_.isInstanceOf[Unknown])

  /** The files that are kept, one group of conjuncts after the other. */
  lazy val kept: KeptFiles = KeptFiles.by(
    conjuncts.zip(tests).filter(_._1.used).groupBy(c => FilterOnFiles.nameOf(c._1.columns)).toSeq
      .map { case (name, same) => name -> FileTest.and(same.map(_._2)) },
    index.table.size)

  override def prunedBy: IndexedSeq[String] = kept.prunedBy

  override def byEntries: Option[EntryPruner] =
    Some(new EntryPruner(index.identity, index.files, kept))

  private lazy val walk = index.files.walk()

  /** Not safe for threads. */
  override def decide(file: FileStatus): Int = {
    val i = walk.find(file)
    if (i < 0) FilePruner.NoEntry else kept.decide(i)
  }

  /** For each used conjunct the number of files of the index that it prunes alone. */
  def dropped: Seq[(ConjunctUse, Int)] = conjuncts.zip(tests).collect {
    case (use, test) if use.used =>
      val (table, kept) = (index.table, test.files(index.table.size))
      use -> (0 until table.size).count(i => table.isLive(i) && !kept.get(i))
  }

  /** Why a used conjunct prunes no file, if cut bounds are the reason. */
  def reasonOfNone(conjunct: ConjunctUse): Option[String] =
    Some(testsOf(conjunct)).filter(_.exists(_.column.isCutAlike))
      .map(_ => "the files' min and max are cut, and the same in all files")

  /** Why a used conjunct prunes fewer files than it might, if the index of a column's values is the reason. */
  def noteOfValues(conjunct: ConjunctUse): Option[String] =
    testsOf(conjunct).collect { case t: IntervalTest => t }
      .flatMap(t => t.noteOfValues).headOption

  /** What to write instead, for a conjunct that looks no value up because it compares a text with numbers. */
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
    conjuncts.zip(tests).collectFirst { case (`conjunct`, test) => testsIn(test) }.getOrElse(Nil)
  }
}

private[sparkzorder] object FilterOnFiles extends PredicateHelper {

  /**
   * @param filters of the query on the relation; they all must hold
   * @param columns data columns of the relation
   */
  private[sparkzorder] def compile(
      filters: Seq[Expression],
      columns: TableColumns,
      index: LoadedIndex,
      caseSensitive: Boolean): FilterOnFiles = {
    val (uses, tests) = tested(filters, columns, index, caseSensitive).unzip
    new FilterOnFiles(index, tests, uses, new KeysInFiles(columns, index, caseSensitive))
  }

  /** Each conjunct of some filters with its test, by an index or by statistics in its form. */
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
  private def textOf(e: Expression): String = {
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
    val text = textOf(e)
    val ofParts = e.exists(_.isInstanceOf[ExtractValue])
    val advice = TextAsNumber.advice(e)
    ConjunctUse(
      text,
      columnsOf(e),
      reason.isEmpty,
      if (reason.isEmpty) None else advice.orElse(reason),
      ofParts,
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
   * @param filters a part of a filter that is not understood keeps every file
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

/** Decides for the files of a listing, one by one, which of them a query reads. */
private[sparkzorder] trait FilePruner extends (FileStatus => Boolean) {

  /** Columns of the predicates that may prune files: `a`, or `(a, b)` if one predicate has both. */
  def prunedBy: IndexedSeq[String]

  /**
   * @return the position in [[prunedBy]] of the columns that prune the file; [[FilePruner.Read]] if
   *   some of its rows may match; [[FilePruner.NoEntry]] if the index does not know the file in its
   *   present state
   */
  def decide(file: FileStatus): Int

  /**
   * The same decisions for the entries of one index; None if several indexes decide. An
   * implementation that fails has to return None.
   */
  def byEntries: Option[EntryPruner] = None

  /** True unless no row of the file can match. */
  final override def apply(file: FileStatus): Boolean = decide(file) < 0
}

/**
 * Decides for the entries of an index.
 *
 * @param identity of the index, see `LoadedIndex.identity`
 * @param lookup finds the entries of files
 */
private[sparkzorder] final class EntryPruner(
    val identity: AnyRef,
    val lookup: PathLookup,
    val kept: KeptFiles)

private[sparkzorder] object FilePruner {
  val Read: Int = -1
  val NoEntry: Int = -2

  /** Several pruners, each for files of its own. A file that none of them prunes must be read. */
  def of(pruners: Seq[FilePruner]): Option[FilePruner] =
    if (pruners.size > 1) Some(new Several(pruners)) else pruners.headOption

  private final class Several(pruners: Seq[FilePruner]) extends FilePruner {
    override val prunedBy: IndexedSeq[String] =
      pruners.flatMap(_.prunedBy).distinct.toIndexedSeq
    private val positions = pruners.map(_.prunedBy.map(c => prunedBy.indexOf(c)))

    override def decide(file: FileStatus): Int = {
      val each = pruners.iterator.map(_.decide(file)).zip(positions.iterator)
      var found = NoEntry
      while (found < 0 && each.hasNext) {
        val (decision, places) = each.next()
        if (decision >= 0) found = places(decision)
        else if (decision == Read) found = Read
      }
      found
    }
  }
}
