package io.sparkzorder.skipping

import java.util.BitSet

import scala.util.Try

import org.apache.hadoop.fs.FileStatus

import org.apache.spark.sql.catalyst.expressions.{And, Expression}

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
    extends (FileStatus => Boolean) {

  /** False when there is nothing to judge files by. */
  val isUseful: Boolean = tests.exists(!_.isInstanceOf[Unknown])

  private lazy val kept: FileStatus => Boolean =
    new KeptFiles(index.files.walk(), FileTest.and(tests).files(index.files.table.size))

  /** True unless the index is sure that no row of the file matches; for one thread. */
  override def apply(file: FileStatus): Boolean = kept(file)

  /** For each used conjunct the number of files of the index that it alone lets go. */
  def dropped: Seq[(ConjunctUse, Int)] = conjuncts.zip(tests).collect {
    case (use, test) if use.used =>
      val count = index.files.table.size
      use -> (count - test.files(count).cardinality)
  }
}

/** Files that the index knows are kept by their bits, and all others. */
private final class KeptFiles(walk: KnownFiles#Walk, kept: BitSet) extends (FileStatus => Boolean) {
  override def apply(file: FileStatus): Boolean = {
    val i = walk.find(file)
    i < 0 || kept.get(i)
  }
}

object FilterOnFiles {

  /**
   * @param filters of the query on the relation; they all must hold
   * @param columns data columns of the relation
   */
  private[skipping] def compile(
      filters: Seq[Expression],
      columns: TableColumns,
      index: LoadedIndex,
      caseSensitive: Boolean): FilterOnFiles = {
    val conjuncts = filters.flatMap(split)
    val compiler = new PredicateCompiler(columns, new ViewBuilder(index, caseSensitive))
    val tests = conjuncts.map(compiler(_))
    val uses = conjuncts.zip(tests).map { case (e, test) => use(e, test) }
    new FilterOnFiles(index, tests, uses)
  }

  private def split(filter: Expression): Seq[Expression] = filter match {
    case And(l, r) => split(l) ++ split(r)
    case other => Seq(other)
  }

  private def use(e: Expression, test: FileTest): ConjunctUse = {
    val reason = test match {
      case Unknown(why) => Some(why)
      case _ => None
    }
    val text = Try(e.sql).getOrElse(e.toString)
    ConjunctUse(text, e.references.map(_.name).toSeq.distinct, reason.isEmpty, reason)
  }
}
