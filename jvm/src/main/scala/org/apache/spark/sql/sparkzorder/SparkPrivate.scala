// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.sparkzorder

import scala.util.{Failure, Success, Try}

import org.apache.spark.SparkContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.connector.catalog.{CatalogPlugin, CatalogV2Util, Table, V1Table}
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.DataType
import org.apache.spark.sql.util.QueryExecutionListener
import org.apache.spark.util.ThreadUtils

/** Access to members of Spark that are `private[spark]` or `private[sql]`. */
object SparkPrivate {

  /** More threads than cores are useful, because a thread that reads a footer mostly waits. */
  private val FooterThreads = 16

  /**
   * Registers a session setting whose value is a string. The SQL command SET rejects illegal
   * values.
   */
  def registerConf(
      key: String,
      default: Option[String],
      doc: String,
      legal: String,
      isLegal: String => Boolean): Unit = {
    val entry = SQLConf
      .buildConf(key)
      .doc(doc)
      .version("0.3.0")
      .stringConf
      .checkValue(isLegal, s"It must be $legal.")
    default match {
      case Some(value) => entry.createWithDefault(value)
      case None => entry.createOptional
    }
  }

  /** The catalog table behind a resolved table. None unless the table is a V1Table of Spark. */
  def catalogTable(table: Table): Option[CatalogTable] = table match {
    case t: V1Table => Some(t.v1Table)
    case _ => None
  }

  /** True if `t` is the type `inner`, or has values of it in arrays, maps or structs. */
  def hasInside(t: DataType, inner: DataType): Boolean = t.existsRecursively(_ == inner)

  /** True for `spark_catalog`, which is backed by the session's catalog of tables. */
  def isSessionCatalog(catalog: CatalogPlugin): Boolean = CatalogV2Util.isSessionCatalog(catalog)

  /**
   * The result of a call, or its error, also a fatal one. In [[inParallel]], a fatal error such as that of a class of
   * another version on the class path would end the thread, and nobody would get a result.
   */
  def caught[B](body: => B): Try[B] =
    try Success(body)
    catch { case e: Throwable => Failure(e) }

  /**
   * Reads footers of files: applies `f` to all items in parallel and keeps their order. If calls of `f` fail,
   * throws the error of the first failed item.
   */
  def inParallel[A, B](items: Seq[A])(f: A => B): Seq[B] =
    if (items.isEmpty) Nil
    else {
      // `parmap` wraps an exception of `f` in a SparkException, which would hide our error condition
      val threads = math.min(FooterThreads, items.size)
      ThreadUtils.parmap(items, "zorder-footers", threads)(i => caught(f(i))).map(_.get)
    }

  /** Removes the files of a shuffle. Does not wait until they are gone. */
  def removeShuffle(context: SparkContext, shuffle: Int): Unit =
    context.cleaner.foreach(_.doCleanupShuffle(shuffle, blocking = false))

  /** Registers a listener of a session's queries, unless it is registered already. */
  def ensureListener(session: SparkLine.Session, listener: QueryExecutionListener): Unit = {
    val manager = session.listenerManager
    manager.synchronized {
      if (!manager.listListeners().contains(listener)) manager.register(listener)
    }
  }

  /**
   * Runs a query and passes its internal rows to `body` one by one. The driver collects all rows in compressed
   * form and decompresses them one by one. `body` must copy a row to keep it, because the next row may use the
   * same memory.
   */
  def foreachInternal(frame: SparkLine.Frame)(body: InternalRow => Unit): Unit =
    SQLExecution.withNewExecutionId(frame.queryExecution, Some("zorder")) {
      frame.queryExecution.executedPlan.executeCollectIterator()._2.foreach(body)
    }
}
