// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.LongAdder

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, IsNotNull}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.execution.datasources.{FileIndex, HadoopFsRelation}
import org.apache.spark.sql.execution.datasources.parquet.ParquetUtils
import org.apache.spark.sql.internal.SQLConf

import io.sparkzorder.conf.{RelationConf, Settings}
import io.sparkzorder.index.{IndexStore, LoadedIndex}
import io.sparkzorder.skipping.predicate.{EntryPruner, FilePruner, FilterOnFiles, TableColumns}
import io.sparkzorder.table.DataFormat
import io.sparkzorder.util.ManyFiles

/**
 * The answer of one table's index to a query's filters.
 *
 * @param filter None if no index can be used; `reason` then says why
 */
private[sparkzorder] final case class IndexUse(
    root: Path,
    filter: Option[FilterOnFiles],
    reason: Option[String])

/**
 * Decides which files of a scan are read, from the scan's data filters and the indexes of the
 * tables that the scan reads. An error in this class does not fail the query. The query reads all
 * files then.
 *
 * @param output attributes of the relation in the query's plan
 */
private[sparkzorder] final class IndexPruning private[sparkzorder] (
    relation: HadoopFsRelation,
    output: Seq[Attribute],
    settings: RelationConf,
    roots: TableRoots)
    extends (Seq[Expression] => Option[FilePruner])
    with Logging {

  private[sparkzorder] def this(
      relation: HadoopFsRelation,
      output: Seq[Attribute],
      roots: TableRoots) = this(relation, output, new RelationConf(relation), roots)

  /** For a relation that is not a table of the catalog. */
  def this(relation: HadoopFsRelation, output: Seq[Attribute]) =
    this(relation, output, new TableRoots(None, new RelationConf(relation)))

  // what was asked last: the filters known while planning, and those known at run time
  @volatile private var answered: List[(Seq[Expression], Seq[IndexUse])] = Nil

  private[scan] def properties: Map[String, String] = roots.properties
  private[scan] def hadoop: Configuration = settings.hadoop

  /** @return a pruner of the files; None when every file must be read */
  override def apply(filters: Seq[Expression]): Option[FilePruner] = {
    val uses = ask(filters)
    answered = (filters, uses) :: answered.take(1)
    prunerOf(uses)
  }

  /**
   * The answers of the one index of a scan to groups of filters, with the table's directory. None if
   * there is no index, or several.
   */
  private[scan] def answersFor(filters: Seq[Seq[Expression]])
      : Option[(Path, Seq[FilterOnFiles])] = {
    val uses = filters.map(f =>
      answered.find(_._1 == f).map(_._2).filter(_.nonEmpty).getOrElse(askAlsoWithout(f)))
    val answers = uses.map(_.filter(_.filter.isDefined))
    if (answers.exists(_.size != 1)) None
    else Some(answers.head.head.root -> answers.map(_.head.filter.get))
  }

  /**
   * The least and the greatest value of a column in all files of which the indexes know bounds. Other files
   * may hold other values.
   */
  private[scan] def rangeOf(column: Expression): Option[(Long, Long)] =
    // an answer to any filters knows all columns
    answered.headOption.map(_._2).filter(_.nonEmpty).getOrElse(ask(Seq(IsNotNull(column))))
      .flatMap(_.filter).flatMap(_.rangeOf(column))
      .reduceOption((a, b) => (math.min(a._1, b._1), math.max(a._2, b._2)))

  /** The directory of the one table that the scan reads, if it has state; looks at no index. */
  private[scan] def tableRoot: Option[Path] =
    Some(roots.ofIndexes(plainLocation)).filter(_.size == 1).map(r => qualified(r.head))

  private def qualified(root: Path): Path =
    root.getFileSystem(settings.hadoop).makeQualified(root)

  private def askAlsoWithout(filters: Seq[Expression]): Seq[IndexUse] =
    if (!Settings.ofSession(Settings.SkippingEnabled)) Nil
    else {
      val size = Settings.ofSession(Settings.SkippingCacheSize)
      roots.ofIndexes(plainLocation).map(ask(_, filters, size))
    }

  private def plainLocation: FileIndex = relation.location match {
    case ours: ZOrderFileIndex => ours.delegate
    case other => other
  }

  /** Makes a pruner from the answers of indexes; None when every file must be read. */
  def prunerOf(uses: Seq[IndexUse]): Option[FilePruner] =
    try {
      // the pruner is made inside `try`, so that an error does not fail the query
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
    override def byEntries: Option[EntryPruner] =
      try {
        // evaluated inside `try`
        pruner.byEntries.filter(_.kept.prunedBy.nonEmpty)
      } catch {
        case PruningFailure(e) =>
          IndexPruning.failed(table, e)
          None
      }

    override def decide(file: FileStatus): Int =
      try pruner.decide(file)
      catch {
        case PruningFailure(e) =>
          IndexPruning.failed(table, e)
          FilePruner.NoEntry
      }
  }

  /**
   * The answer of each index to the data filters of a scan. Empty if skipping is off, if there is
   * no filter, or after an error.
   */
  def ask(filters: Seq[Expression]): Seq[IndexUse] =
    try {
      if (filters.isEmpty || !Settings.ofSession(Settings.SkippingEnabled)) Nil
      else {
        val size = Settings.ofSession(Settings.SkippingCacheSize)
        val location = plainLocation
        // a thread of a pool has the settings of the session that has made the thread
        val conf = SQLConf.get
        val uses = ManyFiles.map(roots.ofIndexes(location))(root =>
          SQLConf.withExistingConf(conf)(ask(root, filters, size)))
        // an index says more than a table without one
        val found = uses.filter(_.filter.isDefined)
        if (found.nonEmpty) found
        else uses.take(1) ++ (if (uses.isEmpty) Some(noIndex(location)) else None)
      }
    } catch {
      case PruningFailure(e) =>
        IndexPruning.failed(relation.location.toString, e)
        Nil
    }

  private def noIndex(location: FileIndex): IndexUse =
    IndexUse(location.rootPaths.headOption.orNull, None, Some(IndexPruning.NoIndex))

  private def ask(root: Path, filters: Seq[Expression], cacheSize: Long): IndexUse =
    try {
      val conf = settings.hadoop
      val table = qualified(root)
      // the settings of the relation's session, which Spark's reader uses too: a view may belong to
      // another session than the query
      val sqlConf = settings.session.sessionState.conf
      val columns = new TableColumns(
        output,
        relation.dataSchema,
        relation.partitionSchema,
        sqlConf.resolver)
      def newest = new IndexStore(table, conf).newest.toRight(IndexPruning.NoIndex)
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

  /** Looks at the attributes too: a field of the schema loses its id when Spark prunes it. */
  private def hasFieldIds: Boolean =
    Seq(relation.dataSchema, DataTypeUtils.fromAttributes(output)).exists(ParquetUtils.hasFieldIds)

  /**
   * Right if Spark finds columns by their names in the files, as the index does. Settings of the
   * session can make Spark find columns by field ids or by positions. Left says which.
   */
  private def columnsFoundByName(conf: Configuration): Either[String, Unit] = {
    // Spark's reader takes this setting from this configuration too, which has the relation's
    // options
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

private[sparkzorder] object IndexPruning extends Logging {
  private val NoIndex = "there is no index"
  private val failures = new LongAdder
  private val reported = ConcurrentHashMap.newKeySet[String]()

  /** How often an index could not be used, in this JVM. */
  def failureCount: Long = failures.sum()

  private val withoutEntry = new LongAdder
  private val incomplete = ConcurrentHashMap.newKeySet[String]()

  /** How many files were read because the index of their table did not know them, in this JVM. */
  def withoutEntryCount: Long = withoutEntry.sum()

  /**
   * Counts the files that a scan reads because the index has no entry for them. Logs a warning once
   * for each table.
   */
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

  private[skipping] def failed(table: String, e: Throwable): Unit = {
    failures.increment()
    if (reported.size < maxReported && reported.add(s"$table $e")) {
      logWarning(s"the index of $table is not used; all files are read", e)
    }
  }
}

/**
 * Matches errors of an index that must not fail the query, which then reads all files. Besides
 * errors of reading, these are a heap too small for the index, a filter too deep for the stack, and
 * a class or method that another version of a library lacks. Other errors, such as the cancellation
 * of the query or a broken JVM, still stop the query.
 */
private[sparkzorder] object PruningFailure {
  def unapply(e: Throwable): Option[Throwable] = e match {
    case _: OutOfMemoryError | _: StackOverflowError | _: LinkageError => Some(e)
    case NonFatal(_) => Some(e)
    case _ => None
  }
}
