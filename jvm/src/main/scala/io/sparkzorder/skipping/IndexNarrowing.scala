package io.sparkzorder.skipping

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.LongAdder

import scala.util.control.NonFatal

import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.execution.datasources.parquet.ParquetUtils
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sparkzorder.SparkLine

import io.sparkzorder.conf.{Setting, Settings}
import io.sparkzorder.index.{IndexStore, LoadedIndex}

/**
 * What the index of one table makes of a query's filters.
 *
 * @param filter None where there is no index that can be used, and `reason` says why
 */
final case class IndexUse(root: Path, filter: Option[FilterOnFiles], reason: Option[String])

/**
 * From the data filters of a scan to the test of its files, by the indexes of the tables that it reads.
 * An error here is never the query's: the files are read then.
 *
 * @param output attributes of the relation in the query's plan
 */
final class IndexNarrowing(relation: HadoopFsRelation, output: Seq[Attribute])
    extends (Seq[Expression] => Option[FileStatus => Boolean])
    with Logging {

  /** @return the test that a file must pass to be read; None when every file must be read */
  override def apply(filters: Seq[Expression]): Option[FileStatus => Boolean] = {
    val useful = judge(filters).flatMap(_.filter).filter(_.isUseful)
    if (useful.isEmpty) None
    else {
      val tests = useful.toArray
      Some { file =>
        try tests.forall(_(file))
        catch {
          case NonFatal(e) =>
            IndexNarrowing.failed(relation.location.toString, e)
            true
        }
      }
    }
  }

  /** What each index says; empty where skipping is off or no filter is a data filter. */
  def judge(filters: Seq[Expression]): Seq[IndexUse] = {
    val conf = SQLConf.get
    def set[T](s: Setting[T]): T =
      s.parse(conf.getConfString(s.sessionKey, s.default.get), s.sessionKey)
    try {
      // with field ids it is not the names that tell columns
      val byName = !conf.parquetFieldIdReadEnabled || !ParquetUtils.hasFieldIds(relation.dataSchema)
      if (filters.isEmpty || !set(Settings.SkippingEnabled) || !byName) Nil
      else {
        val size = set(Settings.SkippingCacheSize)
        IndexNarrowing.tables(relation.location.rootPaths).map(judge(_, filters, size))
      }
    } catch {
      case NonFatal(e) =>
        IndexNarrowing.failed(relation.location.toString, e)
        Nil
    }
  }

  private def judge(root: Path, filters: Seq[Expression], cacheSize: Long): IndexUse =
    try {
      val conf = SparkLine.session(relation.sparkSession).sessionState
        .newHadoopConfWithOptions(relation.options)
      val table = root.getFileSystem(conf).makeQualified(root)
      val sqlConf = SQLConf.get
      val columns = new TableColumns(
        output,
        relation.dataSchema,
        relation.partitionSchema,
        sqlConf.resolver)
      val generations = new IndexStore(table, conf).generations()
      generations.headOption match {
        case None => IndexUse(table, None, Some("there is no index"))
        case Some(newest) =>
          val index = new LoadedIndex(table, newest, conf, cacheSize)
          IndexUse(
            table,
            Some(FilterOnFiles.compile(filters, columns, index, sqlConf.caseSensitiveAnalysis)),
            None)
      }
    } catch {
      case NonFatal(e) =>
        IndexNarrowing.failed(root.toString, e)
        IndexUse(root, None, Some(s"the index cannot be used: ${e.getMessage}"))
    }
}

object IndexNarrowing extends Logging {
  private val failures = new LongAdder
  private val reported = ConcurrentHashMap.newKeySet[String]()

  /** How often an index could not be used, in this JVM. */
  def failureCount: Long = failures.sum()

  private def failed(table: String, e: Throwable): Unit = {
    failures.increment()
    if (reported.size < 1000 && reported.add(s"$table $e")) {
      logWarning(s"the index of $table is not used; all files are read", e)
    }
  }

  // a read of so many directories that are tables of their own would be slow to look for indexes
  private val maxTables = 20

  /** The tables that some paths belong to: partition directories lie in theirs. */
  private[skipping] def tables(paths: Seq[Path]): Seq[Path] = {
    def table(p: Path): Path =
      if (p.getName.contains("=") && p.getParent != null) table(p.getParent) else p
    val found = paths.iterator.map(table).toSet
    if (found.size > maxTables) Nil else found.toSeq
  }
}
