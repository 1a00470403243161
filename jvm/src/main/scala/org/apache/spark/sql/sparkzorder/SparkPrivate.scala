package org.apache.spark.sql.sparkzorder

import scala.util.Try

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.connector.catalog.{Table, V1Table}
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.util.ThreadUtils

/** What common code needs of Spark's `private[spark]` and `private[sql]` members. */
object SparkPrivate {

  /** Registers a session setting of text type; a wrong value is refused by SET. */
  def registerConf(
      key: String,
      default: Option[String],
      doc: String,
      legal: String,
      isLegal: String => Boolean): Unit = {
    val entry = SQLConf
      .buildConf(key)
      .doc(doc)
      .version("0.1.0")
      .stringConf
      .checkValue(isLegal, s"It must be $legal.")
    default match {
      case Some(value) => entry.createWithDefault(value)
      case None => entry.createOptional
    }
  }

  /** The catalog's table behind a resolved one, unless it is of another kind of catalog. */
  def catalogTable(table: Table): Option[CatalogTable] = table match {
    case t: V1Table => Some(t.v1Table)
    case _ => None
  }

  /** Applies `f` to many things at once, in their order; fails as the first of them that fails. */
  def inParallel[A, B](items: Seq[A], threadName: String, threads: Int)(f: A => B): Seq[B] =
    if (items.isEmpty) Nil
    else {
      // Spark wraps what a thread throws, which would hide the condition of an error of ours
      val tried =
        ThreadUtils.parmap(items, threadName, math.min(threads, items.size))(i => Try(f(i)))
      tried.map(_.get)
    }

  /**
   * Runs a query and hands Spark's internal rows to the driver one by one: they are kept compressed
   * until then. A row may not be kept.
   */
  def foreachInternal(frame: SparkLine.Frame)(body: InternalRow => Unit): Unit =
    SQLExecution.withNewExecutionId(frame.queryExecution, Some("zorder")) {
      frame.queryExecution.executedPlan.executeCollectIterator()._2.foreach(body)
    }
}
