package io.sparkzorder.skipping.predicate

import java.util.BitSet

import scala.util.Try

import org.apache.hadoop.fs.FileStatus

import org.apache.spark.sql.catalyst.expressions.{Expression, PredicateHelper}

import io.sparkzorder.index.{KnownFiles, LoadedIndex}

/**
 * What skipping made of one conjunct of a query's filters.
 *
 * @param predicate the conjunct as SQL
 * @param columns names of the columns in it
 * @param used whether it can keep files from being read
 * @param reason why it cannot; None when it is used
 */
final case class ConjunctUse(
    predicate: String,
    columns: Seq[String],
    used: Boolean,
    reason: Option[String])

/** Some filters of a query, judged on one index. */
final class FilterOnFiles private (
    index: LoadedIndex,
    tests: Seq[FileTest],
    val conjuncts: Seq[ConjunctUse])
    extends FileJudge {

  /** False when there is nothing to judge files by. */
  val isUseful: Boolean = tests.exists(!_.isInstanceOf[Unknown])

  /** The files that the predicates on the same columns keep together; what lets most go comes first. */
  private lazy val byCause: IndexedSeq[(String, BitSet)] = {
    val count = index.table.size
    conjuncts.zip(tests).filter(_._1.used).groupBy(c =>
      FilterOnFiles.cause(c._1.columns)).toIndexedSeq
      .map { case (cause, same) => cause -> FileTest.and(same.map(_._2)).files(count) }
      .sortBy { case (cause, files) => (files.cardinality, cause) }
  }

  override def causes: IndexedSeq[String] = byCause.map(_._1)

  private lazy val judge = new KeptFiles(index.files.walk(), byCause.map(_._2).toArray)

  /** For one thread. */
  override def verdict(file: FileStatus): Int = judge.verdict(file)

  /** For each used conjunct the number of files of the index that it alone lets go. */
  def dropped: Seq[(ConjunctUse, Int)] = conjuncts.zip(tests).collect {
    case (use, test) if use.used =>
      val count = index.table.size
      use -> (count - test.files(count).cardinality)
  }
}

/**
 * Files that the index knows are kept by their bits, and all others.
 *
 * @param byCause files that each cause keeps
 */
private final class KeptFiles(walk: KnownFiles#Walk, byCause: Array[BitSet]) {
  private val kept = byCause.reduceOption[BitSet] { (a, b) =>
    val both = a.clone().asInstanceOf[BitSet]
    both.and(b)
    both
  }

  def verdict(file: FileStatus): Int = {
    val i = walk.find(file)
    if (i < 0) FileJudge.NoEntry
    else if (kept.forall(_.get(i))) FileJudge.Read
    else byCause.indexWhere(!_.get(i))
  }
}

object FilterOnFiles extends PredicateHelper {

  /**
   * @param filters of the query on the relation; they all must hold
   * @param columns data columns of the relation
   */
  private[sparkzorder] def compile(
      filters: Seq[Expression],
      columns: TableColumns,
      index: LoadedIndex,
      caseSensitive: Boolean): FilterOnFiles = {
    val conjuncts = filters.flatMap(splitConjunctivePredicates)
    val compiler = new PredicateCompiler(columns, new ViewBuilder(index, caseSensitive))
    val tests = conjuncts.map(compiler(_))
    val uses = conjuncts.zip(tests).map { case (e, test) => use(e, test) }
    new FilterOnFiles(index, tests, uses)
  }

  /** How files that predicates on some columns let go are accounted for. */
  private[sparkzorder] def cause(columns: Seq[String]): String =
    if (columns.size == 1) columns.head else columns.sorted.mkString("(", ", ", ")")

  /** Every cause that may come up for some filters. */
  private[sparkzorder] def causes(filters: Seq[Expression]): Seq[String] =
    filters.flatMap(splitConjunctivePredicates).map(e => cause(columnsOf(e))).distinct

  private def columnsOf(e: Expression): Seq[String] = e.references.map(_.name).toSeq.distinct

  private def use(e: Expression, test: FileTest): ConjunctUse = {
    val reason = test match {
      case Unknown(why) => Some(why)
      case _ => None
    }
    val text = Try(e.sql).getOrElse(e.toString)
    ConjunctUse(text, columnsOf(e), reason.isEmpty, reason)
  }
}
