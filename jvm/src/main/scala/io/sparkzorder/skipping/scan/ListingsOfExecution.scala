// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import java.lang.ref.WeakReference
import java.util.concurrent.ConcurrentHashMap

import scala.util.Try

import org.apache.hadoop.fs.Path

import org.apache.spark.SparkContext
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.{QueryExecution, SQLExecution}
import org.apache.spark.sql.execution.datasources.{
  FileIndex,
  HadoopFsRelation,
  InMemoryFileIndex,
  LogicalRelation
}

import io.sparkzorder.util.WeakIdentityMap

/**
 * The listings of one execution of a query on one relation. All scans of the execution read the files that
 * the first one was told of, whatever other filters they have: a side of a join that runs a second time for its
 * keys must give the rows that the join gets. The pruned listings are held by the plans of the query; here
 * they are held weakly.
 */
private[scan] final class ListingsOfExecution(
    val execution: String,
    query: WeakReference[QueryExecution]) {
  private val listings = new ConcurrentHashMap[AnyRef, WeakReference[PrunedListing]]
  private var first: Option[HeldListing] = None
  @volatile private var haveRecordsBeenRead = false
  private val newest = new ConcurrentHashMap[Path, java.lang.Long]

  /** The query that is executed; None when it has ended. */
  def ofQuery: Option[QueryExecution] = Option(query.get)

  def get(key: AnyRef): Option[PrunedListing] =
    Option(listings.get(key)).flatMap(r => Option(r.get))

  /** Keeps a listing, and returns the one that all scans read: another thread may have been first. */
  def kept(key: AnyRef, listing: PrunedListing): PrunedListing =
    Option(listings.compute(
      key,
      (_, known) =>
        if (known != null && known.get != null) known else new WeakReference(listing)).get)
      .getOrElse(listing)

  /** What the index listed when the execution first asked. An INSERT refreshes the index in place. */
  def held(index: InMemoryFileIndex): HeldListing = synchronized {
    val listing = first.getOrElse(HeldListing.of(index))
    first = Some(listing)
    listing
  }

  /**
   * The number of the newest record of a table when the execution first read the records; 0 if there was none. A run
   * that commits later may bring rows that the listing lacks, and only the scans after this run would have them.
   *
   * @param now the newest one at present
   */
  def newestOf(table: Path, now: Long): Long =
    newest.computeIfAbsent(table, _ => if (haveRecordsBeenRead) 0L else now)

  /** Notes that the execution has read the records. A table that had none gets its first run later. */
  def recordsAreRead(): Unit = haveRecordsBeenRead = true
}

private[scan] object ListingsOfExecution {
  // by the ids of executions: several queries read a table of the catalog at once by one index
  private type ById = ConcurrentHashMap[String, ListingsOfExecution]
  private val running = new WeakIdentityMap[FileIndex, ById]

  /**
   * Those of the execution that the thread works for. None if this is no execution of a query that reads
   * the relation. The id of an execution outlives its query in threads that were made meanwhile, and under
   * the id of a batch of a stream, `foreachBatch` may read a table, write to it and read it again.
   *
   * @param delegate Spark's own index of the relation
   */
  def current(delegate: FileIndex, context: SparkContext): Option[ListingsOfExecution] =
    for {
      id <- executionOf(context)
      query <- queryOf(id)
      listings <- running.get(delegate).flatMap(byId => Option(byId.get(id))).orElse(
        if (reads(query.optimizedPlan, delegate)) Some(of(delegate, id, query)) else None)
    } yield listings

  /** The id of the execution for which the thread works. */
  def executionOf(context: SparkContext): Option[String] =
    Option(context.getLocalProperty(SQLExecution.EXECUTION_ID_KEY))

  private def queryOf(execution: String): Option[QueryExecution] =
    Try(execution.toLong).toOption.flatMap(n => Option(SQLExecution.getQueryExecution(n)))

  private def of(
      delegate: FileIndex,
      execution: String,
      query: QueryExecution): ListingsOfExecution = synchronized {
    val byId = running.get(delegate).getOrElse {
      val made = new ById
      running.put(delegate, made)
      made
    }
    byId.keySet.removeIf(queryOf(_).isEmpty)
    byId.computeIfAbsent(
      execution,
      _ => new ListingsOfExecution(execution, new WeakReference(query)))
  }

  private def reads(plan: LogicalPlan, delegate: FileIndex): Boolean = hasNode(plan) {
    case r: LogicalRelation => r.relation match {
        case fs: HadoopFsRelation => fs.location eq delegate
        case _ => false
      }
    case _ => false
  }

  private def hasNode(plan: LogicalPlan)(isWanted: LogicalPlan => Boolean): Boolean =
    (plan +: plan.subqueriesAll).exists(_.exists(isWanted))
}
