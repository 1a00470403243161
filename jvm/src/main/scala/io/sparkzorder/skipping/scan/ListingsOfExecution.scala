// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import java.lang.ref.WeakReference
import java.util.concurrent.ConcurrentHashMap

import scala.util.Try

import org.apache.hadoop.fs.Path

import org.apache.spark.SparkContext
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.{
  FileSourceScanExec,
  QueryExecution,
  SparkPlan,
  SQLExecution
}
import org.apache.spark.sql.execution.columnar.{InMemoryRelation, InMemoryTableScanExec}
import org.apache.spark.sql.execution.datasources.{
  FileIndex,
  HadoopFsRelation,
  InMemoryFileIndex,
  LogicalRelation
}

import io.sparkzorder.util.WeakIdentityMap

/**
 * The listings of one relation for one execution of a query. All scans of the execution use the listing
 * that the first scan got, whatever filters they have: a side of a join that runs a second time for its
 * keys must return the same rows as for the join. The plans of the query hold the pruned listings, and this
 * class has only weak references to them.
 */
private[scan] final class ListingsOfExecution(
    val execution: String,
    query: WeakReference[QueryExecution]) {
  private val listings = new ConcurrentHashMap[AnyRef, WeakReference[PrunedListing]]
  private var first: Option[HeldListing] = None
  @volatile private var haveRecordsBeenRead = false
  private val newest = new ConcurrentHashMap[Path, java.lang.Long]

  /** The query of the execution; None if the query has been garbage-collected. */
  def ofQuery: Option[QueryExecution] = Option(query.get)

  def get(key: AnyRef): Option[PrunedListing] =
    Option(listings.get(key)).flatMap(r => Option(r.get))

  /**
   * Keeps a listing and returns it, or returns the listing that another thread has kept before for the same
   * key.
   */
  def kept(key: AnyRef, listing: PrunedListing): PrunedListing =
    Option(listings.compute(
      key,
      (_, known) =>
        if (known != null && known.get != null) known else new WeakReference(listing)).get)
      .getOrElse(listing)

  /**
   * The listing at the first call of the execution. Later, an INSERT may have refreshed the file index in
   * place.
   */
  def held(index: InMemoryFileIndex): HeldListing = synchronized {
    val listing = first.getOrElse(HeldListing.of(index))
    first = Some(listing)
    listing
  }

  /**
   * The number of the newest record of a table when the execution first read the records; 0 if there was
   * none. Later runs are ignored: their files may have rows that the listing lacks, and only later scans
   * would read these rows.
   *
   * @param now the number of the newest record at present
   */
  def newestOf(table: Path, now: Long): Long =
    newest.computeIfAbsent(table, _ => if (haveRecordsBeenRead) 0L else now)

  /**
   * Marks that the execution has read the records. If a table had no record then, any run of it is a later
   * run.
   */
  def recordsAreRead(): Unit = haveRecordsBeenRead = true
}

private[scan] object ListingsOfExecution {
  // keyed by the id of the execution, because several queries may read a table at once by one file index
  private type ById = ConcurrentHashMap[String, ListingsOfExecution]
  private val running = new WeakIdentityMap[FileIndex, ById]

  /**
   * The listings of the execution for which the thread works. None if this execution has no query that
   * reads the relation. That check is needed: threads that were created during an execution keep its id
   * after its query has ended, and under the id of one batch of a stream, `foreachBatch` may read a table,
   * write to it and read it again.
   *
   * @param delegate Spark's own file index of the relation
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
    // the first execution that reads a cached data frame makes its rows
    case cached: InMemoryRelation => scans(cached.cacheBuilder.cachedPlan, delegate)
    case _ => false
  }

  private def scans(plan: SparkPlan, delegate: FileIndex): Boolean =
    (plan match {
      case scan: FileSourceScanExec => scan.relation.location match {
          case ours: ZOrderFileIndex => ours.delegate eq delegate
          case _ => false
        }
      case cached: InMemoryTableScanExec =>
        scans(cached.relation.cacheBuilder.cachedPlan, delegate)
      case _ => false
    }) || (RuntimeFilters.inner(plan) ++ plan.subqueries).exists(scans(_, delegate))

  private def hasNode(plan: LogicalPlan)(isWanted: LogicalPlan => Boolean): Boolean =
    (plan +: plan.subqueriesAll).exists(_.exists(isWanted))
}
