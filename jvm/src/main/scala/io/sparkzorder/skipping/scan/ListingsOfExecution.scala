// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import java.lang.ref.WeakReference
import java.util.concurrent.ConcurrentHashMap

import scala.util.Try

import org.apache.spark.SparkContext
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.{QueryExecution, SQLExecution}
import org.apache.spark.sql.execution.datasources.{FileIndex, HadoopFsRelation, LogicalRelation}

import io.sparkzorder.util.WeakIdentityMap

/**
 * The pruned listings of one execution of a query on one relation. The plans of the query hold
 * them; here they are held weakly.
 */
private[scan] final class ListingsOfExecution(
    val execution: String,
    query: WeakReference[QueryExecution]) {
  private val listings = new ConcurrentHashMap[AnyRef, WeakReference[PrunedListing]]

  /** The query that is executed; None when it has ended. */
  def ofQuery: Option[QueryExecution] = Option(query.get)

  def get(key: AnyRef): Option[PrunedListing] =
    Option(listings.get(key)).flatMap(r => Option(r.get))

  def put(key: AnyRef, listing: PrunedListing): Unit = {
    val _ = listings.put(key, new WeakReference(listing))
  }
}

private[scan] object ListingsOfExecution {
  private val last = new WeakIdentityMap[FileIndex, ListingsOfExecution]

  /**
   * Those of the execution that the thread works for. None if this is no execution of a query that reads
   * the relation. The id of an execution outlives its query in threads that were made meanwhile, and under
   * the id of a batch of a stream, `foreachBatch` may read a table, write to it and read it again.
   *
   * @param delegate Spark's own index of the relation
   */
  def current(delegate: FileIndex, context: SparkContext): Option[ListingsOfExecution] =
    for {
      id <- Option(context.getLocalProperty(SQLExecution.EXECUTION_ID_KEY))
      query <- Try(id.toLong).toOption.flatMap(n => Option(SQLExecution.getQueryExecution(n)))
      listings <- last.get(delegate).filter(_.execution == id).orElse(
        if (reads(query.optimizedPlan, delegate)) Some(of(delegate, id, query)) else None)
    } yield listings

  private def of(
      delegate: FileIndex,
      execution: String,
      query: QueryExecution): ListingsOfExecution = {
    val made = new ListingsOfExecution(execution, new WeakReference(query))
    last.put(delegate, made)
    made
  }

  private def reads(plan: LogicalPlan, delegate: FileIndex): Boolean =
    (plan +: plan.subqueriesAll).exists(_.exists {
      case r: LogicalRelation => r.relation match {
          case fs: HadoopFsRelation => fs.location eq delegate
          case _ => false
        }
      case _ => false
    })
}
