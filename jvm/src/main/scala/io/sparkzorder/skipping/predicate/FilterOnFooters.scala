package io.sparkzorder.skipping.predicate

import java.util.BitSet

import scala.collection.JavaConverters._

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType

import io.sparkzorder.index.{ColumnChoice, FileShape, FooterEntries, IndexContent}
import io.sparkzorder.table.stats.Footer

/**
 * Judges files by footers that were just read, as a query would judge them by the index.
 *
 * @param output attributes that the filters use
 * @param dataSchema what the files hold
 * @param partitionSchema what the names of directories hold
 */
final class FilterOnFooters(
    output: Seq[Attribute],
    dataSchema: StructType,
    partitionSchema: StructType,
    conf: SQLConf) {

  /**
   * @param filters what is not understood of them keeps every file
   * @return positions of the footers whose files may hold a row for which all filters are true
   */
  def apply(filters: Seq[Expression], footers: IndexedSeq[Footer]): BitSet = {
    val choice = ColumnChoice(Some(leavesOf(filters, footers)))
    val entries = new FooterEntries(choice)
    val content =
      IndexContent.of(footers.zipWithIndex.map { case (f, i) => entries.of(f, i.toString) })
    val columns = new TableColumns(output, dataSchema, partitionSchema, conf.resolver)
    val compiler =
      new PredicateCompiler(columns, new ViewBuilder(content, conf.caseSensitiveAnalysis))
    AllOf(filters.map(compiler(_))).files(footers.size)
  }

  /** Leaf columns below the columns that filters use. */
  private def leavesOf(filters: Seq[Expression], footers: Seq[Footer]): Seq[Seq[String]] = {
    val used = filters.flatMap(_.references.map(_.name)).map(FileShape.fold(_: String)).toSet
    footers.map(_.schema).distinct.flatMap(_.getPaths.asScala.map(_.toSeq)).distinct
      .filter(path => used(FileShape.fold(path.head)))
  }
}
