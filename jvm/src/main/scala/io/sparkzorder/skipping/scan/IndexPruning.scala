package io.sparkzorder.skipping.scan

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.LongAdder

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.execution.datasources.parquet.ParquetUtils
import org.apache.spark.sql.internal.SQLConf

import io.sparkzorder.conf.{RelationConf, Settings}
import io.sparkzorder.index.{IndexStore, LoadedIndex}
import io.sparkzorder.skipping.predicate.{FilePruner, FilterOnFiles, TableColumns}
import io.sparkzorder.table.DataFormat

/**
 * The answer of one table's index to a query's filters.
 *
 * @param filter None where there is no index that can be used, and `reason` says why
 */
final case class IndexUse(root: Path, filter: Option[FilterOnFiles], reason: Option[String])

/**
 * Decides by the data filters of a scan which of its files are read: it asks the indexes of the tables that
 * the scan reads. An error here is never the query's, which reads all files then.
 *
 * @param output attributes of the relation in the query's plan
 */
final class IndexPruning private[sparkzorder] (
    relation: HadoopFsRelation,
    output: Seq[Attribute],
    settings: RelationConf)
    extends (Seq[Expression] => Option[FilePruner])
    with Logging {

  def this(relation: HadoopFsRelation, output: Seq[Attribute]) =
    this(relation, output, new RelationConf(relation))

  /** @return what prunes the files; None when every file must be read */
  override def apply(filters: Seq[Expression]): Option[FilePruner] = prunerOf(ask(filters))

  /** What prunes files by the answers of indexes; None when every file must be read. */
  def prunerOf(uses: Seq[IndexUse]): Option[FilePruner] =
    try {
      // made here, where an error still is no error of the query
      FilePruner.of(uses.flatMap(_.filter).filter(_.isUseful)).map { p =>
        new Guarded(p, relation.location.toString, p.prunedBy)
      }
    } catch {
      case PruningFailure(e) =>
        IndexPruning.failed(relation.location.toString, e)
        None
    }

  private final class Guarded(
      pruner: FilePruner,
      table: String,
      override val prunedBy: IndexedSeq[String])
      extends FilePruner {
    override def decide(file: FileStatus): Int =
      try pruner.decide(file)
      catch {
        case PruningFailure(e) =>
          IndexPruning.failed(table, e)
          FilePruner.NoEntry
      }
  }

  /** The answer of each index; empty where skipping is off or no filter is a data filter. */
  def ask(filters: Seq[Expression]): Seq[IndexUse] =
    try {
      if (filters.isEmpty || !Settings.ofSession(Settings.SkippingEnabled)) Nil
      else {
        val size = Settings.ofSession(Settings.SkippingCacheSize)
        IndexPruning.tables(relation.location.rootPaths).map(ask(_, filters, size))
      }
    } catch {
      case PruningFailure(e) =>
        IndexPruning.failed(relation.location.toString, e)
        Nil
    }

  private def ask(root: Path, filters: Seq[Expression], cacheSize: Long): IndexUse =
    try {
      val conf = settings.hadoop
      val table = root.getFileSystem(conf).makeQualified(root)
      // as Spark's reader has them: a view may belong to another session than the query
      val sqlConf = settings.session.sessionState.conf
      val columns = new TableColumns(
        output,
        relation.dataSchema,
        relation.partitionSchema,
        sqlConf.resolver)
      def newest = new IndexStore(table, conf).newest.toRight("there is no index")
      columnsFoundByName(conf).flatMap(_ => newest) match {
        case Left(reason) => IndexUse(table, None, Some(reason))
        case Right(generation) =>
          val index = new LoadedIndex(table, generation, conf, cacheSize)
          IndexUse(
            table,
            Some(FilterOnFiles.compile(filters, columns, index, sqlConf.caseSensitiveAnalysis)),
            None)
      }
    } catch {
      case PruningFailure(e) =>
        IndexPruning.failed(root.toString, e)
        IndexUse(root, None, Some(s"the index cannot be used: ${e.getMessage}"))
    }

  /** Of the attributes too: fields that Spark has pruned have lost theirs. */
  private def hasFieldIds: Boolean =
    Seq(relation.dataSchema, DataTypeUtils.fromAttributes(output)).exists(ParquetUtils.hasFieldIds)

  /** The index knows columns by their names in the files; a session may have Spark find them otherwise. */
  private def columnsFoundByName(conf: Configuration): Either[String, Unit] = {
    // Spark's reader takes it from here, and so from the options too
    val byId = conf.getBoolean(
      SQLConf.PARQUET_FIELD_ID_READ_ENABLED.key,
      SQLConf.PARQUET_FIELD_ID_READ_ENABLED.defaultValue.get)
    if (byId && hasFieldIds) {
      Left("columns are found by field ids")
    } else if (DataFormat.readBy(relation.fileFormat).exists(!_.readsByName(conf))) {
      Left("columns are found by positions")
    } else Right(())
  }
}

/**
 * What goes wrong with an index and must not go wrong with the query: it reads all files then. Beside
 * errors of reading these are a heap too small for the index, a filter too deep for the stack, and classes or
 * methods that another version of a library lacks. A cancelled query and a broken JVM do stop.
 */
private[sparkzorder] object PruningFailure {
  def unapply(e: Throwable): Option[Throwable] = e match {
    case _: OutOfMemoryError | _: StackOverflowError | _: LinkageError => Some(e)
    case NonFatal(_) => Some(e)
    case _ => None
  }
}

object IndexPruning extends Logging {
  private val failures = new LongAdder
  private val reported = ConcurrentHashMap.newKeySet[String]()

  /** How often an index could not be used, in this JVM. */
  def failureCount: Long = failures.sum()

  private val withoutEntry = new LongAdder
  private val incomplete = ConcurrentHashMap.newKeySet[String]()

  /** How many files were read because the index of their table did not know them, in this JVM. */
  def withoutEntryCount: Long = withoutEntry.sum()

  /** Counts the files that a scan reads because they have no entry, and logs it once for each table. */
  private[sparkzorder] def note(table: String, metrics: SkippingMetrics): Unit =
    if (metrics.noEntry > 0) {
      withoutEntry.add(metrics.noEntry)
      if (incomplete.size < maxReported && incomplete.add(table)) {
        logWarning(s"the index of $table knows ${metrics.total - metrics.noEntry} of " +
          s"${metrics.total} files as they are now; the others are read. " +
          "REFRESH ZORDER INDEX brings it up to date.")
      }
    }

  private val maxReported = 1000

  private def failed(table: String, e: Throwable): Unit = {
    failures.increment()
    if (reported.size < maxReported && reported.add(s"$table $e")) {
      logWarning(s"the index of $table is not used; all files are read", e)
    }
  }

  // a read of so many directories that are tables of their own would be slow to look for indexes
  private val maxTables = 20

  /** The tables that some paths belong to: partition directories lie in theirs. */
  private[sparkzorder] def tables(paths: Seq[Path]): Seq[Path] = {
    def table(p: Path): Path =
      if (p.getName.contains("=") && p.getParent != null) table(p.getParent) else p
    val found = paths.iterator.map(table).toSet
    if (found.size > maxTables) Nil else found.toSeq
  }
}
