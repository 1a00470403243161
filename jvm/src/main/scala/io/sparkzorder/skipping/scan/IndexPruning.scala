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
import io.sparkzorder.util.{JobCancellation, ManyFiles}
import io.sparkzorder.workload.RecordRules

/**
 * The result of compiling the filters of a query for the index of one table.
 *
 * @param filter the compiled filters; None if no index can be used, and then `reason` says why
 */
private[sparkzorder] final case class IndexUse(
    root: Path,
    filter: Option[FilterOnFiles],
    reason: Option[String])

/**
 * Decides which files of a scan are read, from the data filters of the scan and the indexes of the tables
 * that the scan reads. After an error in this class, the query reads all files and does not fail.
 *
 * @param output the attributes of the relation in the plan of the query
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

  // the last two results: for the filters whose values are known during planning, and for those at run time
  @volatile private var recent: List[(Seq[Expression], Seq[IndexUse])] = Nil

  private[scan] def properties: Map[String, String] = roots.properties

  /** See [[RecordRules.ofPath]]; None if the scan names a table, whose properties are known. */
  private[scan] def rulesOfPath(root: Path): Option[() => RecordRules] =
    if (roots.isNamed) None
    else {
      // the catalog is that of the application: a session would be kept in memory until the notes are written
      val (conf, shared) = (settings.hadoop, settings.session.sharedState)
      Some(() => RecordRules.ofPath(root, conf, shared.externalCatalog))
    }

  private[scan] def hadoop: Configuration = settings.hadoop

  /** @return a pruner of the files; None if every file must be read */
  override def apply(filters: Seq[Expression]): Option[FilePruner] = {
    val uses = ask(filters)
    recent = (filters, uses) :: recent.take(1)
    prunerOf(uses)
  }

  /**
   * The directory of the table, and the compiled form of each group of filters, for a scan with one index.
   * None if there is no index, or more than one.
   */
  private[scan] def compiledFor(filters: Seq[Seq[Expression]])
      : Option[(Path, Seq[FilterOnFiles])] = {
    val uses = filters.map(f =>
      recent.find(_._1 == f).map(_._2).filter(_.nonEmpty).getOrElse(compileAll(f)))
    val compiled = uses.map(_.filter(_.filter.isDefined))
    if (compiled.exists(_.size != 1)) None
    else Some(compiled.head.head.root -> compiled.map(_.head.filter.get))
  }

  /**
   * The least and the greatest value of a column in all files whose bounds the indexes have. Other files
   * may have other values.
   */
  private[scan] def rangeOf(column: Expression): Option[(Long, Long)] =
    // the result for any filters will do, because each result knows the bounds of all columns
    recent.headOption.map(_._2).filter(_.nonEmpty).getOrElse(ask(Seq(IsNotNull(column))))
      .flatMap(_.filter).flatMap(_.rangeOf(column))
      .reduceOption((a, b) => (math.min(a._1, b._1), math.max(a._2, b._2)))

  /** The directory of the table, if the scan reads exactly one table that may have an index. Reads no index. */
  private[scan] def tableRoot: Option[Path] =
    Some(roots.ofIndexes(plainLocation)).filter(_.size == 1).map(r => roots.qualified(r.head))

  private def compileAll(filters: Seq[Expression]): Seq[IndexUse] =
    if (!Settings.ofSession(Settings.SkippingEnabled)) Nil
    else {
      val size = Settings.ofSession(Settings.SkippingCacheSize)
      // without this, a thread of the pool could have the settings of another session
      val conf = SQLConf.get
      ManyFiles.map(roots.ofIndexes(plainLocation))(root =>
        SQLConf.withExistingConf(conf)(ask(root, filters, size)))
    }

  private def plainLocation: FileIndex = relation.location match {
    case ours: ZOrderFileIndex => ours.delegate
    case other => other
  }

  /** Makes one pruner of the filters for all indexes; None if every file must be read. */
  def prunerOf(uses: Seq[IndexUse]): Option[FilePruner] =
    withoutIndex(Option.empty[FilePruner]) {
      FilePruner.of(uses.flatMap(_.filter).filter(_.isUseful)).map(p => new Guarded(p, p.prunedBy))
    }

  private def withoutIndex[T](otherwise: => T)(body: => T): T =
    PruningFailure.orElse(otherwise, IndexPruning.notUsed(relation.location.toString))(body)

  private final class Guarded(pruner: FilePruner, override val prunedBy: IndexedSeq[String])
      extends FilePruner {
    override def byEntries: Option[EntryPruner] = withoutIndex(Option.empty[EntryPruner]) {
      // The tests ran for `prunedBy`, before this object was made. Without a group of tests ([[KeptFiles]]) no file is
      // pruned, so no entry is looked up.
      pruner.byEntries.filter(_.kept.prunedBy.nonEmpty)
    }

    // called for each file, so the result is not boxed
    override def decide(file: FileStatus): Int =
      try pruner.decide(file)
      catch {
        case PruningFailure(e) =>
          IndexPruning.failed(IndexPruning.notUsed(relation.location.toString), e)
          FilePruner.NoEntry
      }
  }

  /**
   * The data filters of a scan, compiled for each index. If there is no index, a single result says so. Empty if
   * skipping is off, if there is no filter, or after an error.
   */
  def ask(filters: Seq[Expression]): Seq[IndexUse] = withoutIndex(Seq.empty[IndexUse]) {
    if (filters.isEmpty || !Settings.ofSession(Settings.SkippingEnabled)) Nil
    else {
      val uses = compileAll(filters)
      // if some table has an index, tables without an index are not reported
      val found = uses.filter(_.filter.isDefined)
      if (found.nonEmpty) found
      else uses.headOption.orElse {
        Some(IndexUse(plainLocation.rootPaths.headOption.orNull, None, Some(IndexPruning.NoIndex)))
      }.toSeq
    }
  }

  private def ask(root: Path, filters: Seq[Expression], cacheSize: Long): IndexUse =
    try {
      val conf = settings.hadoop
      val table = roots.qualified(root)
      // Spark's reader uses the settings of the relation's session. The relation of a global temporary view may
      // belong to another session than the query.
      val sqlConf = settings.session.sessionState.conf
      val columns = new TableColumns(
        output,
        relation.dataSchema,
        relation.partitionSchema,
        sqlConf.resolver,
        bytesAreText = DataFormat.readBy(relation.fileFormat).exists(_.readsBytesAsText))
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
        IndexPruning.failed(IndexPruning.notUsed(root.toString), e)
        IndexUse(root, None, Some(s"the index cannot be used: ${e.getMessage}"))
    }

  /**
   * True if some column has a field id. The attributes are asked, too, because Spark drops the ids of the schema when
   * it prunes the schema.
   */
  private def hasFieldIds: Boolean =
    Seq(relation.dataSchema, DataTypeUtils.fromAttributes(output)).exists(ParquetUtils.hasFieldIds)

  /**
   * Right if Spark finds columns in the files by name, as the index does. With some settings, Spark finds
   * columns by field id or by position; Left is then the reason.
   */
  private def columnsFoundByName(conf: Configuration): Either[String, Unit] = {
    // Spark's reader, too, takes the setting from this configuration, which includes the relation's options
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

  /** How many times an error made an index unusable, in this JVM. */
  def failureCount: Long = failures.sum()

  private val withoutEntry = new LongAdder
  private val incomplete = ConcurrentHashMap.newKeySet[String]()

  /** How many files were read because the index of their table had no entry for them, in this JVM. */
  def withoutEntryCount: Long = withoutEntry.sum()

  /**
   * Counts the files that a scan reads because the index has no entry for them. Logs a warning once
   * for each table.
   */
  private[sparkzorder] def reportWithoutEntry(table: String, metrics: SkippingMetrics): Unit =
    if (metrics.noEntry > 0) {
      withoutEntry.add(metrics.noEntry)
      if (incomplete.size < maxReported && incomplete.add(table)) {
        logWarning(s"the index of $table knows ${metrics.total - metrics.noEntry} of " +
          s"${metrics.total} files as they are now; the others are read. " +
          "REFRESH ZORDER INDEX brings it up to date.")
      }
    }

  private val maxReported = 1000

  /** What [[failed]] reports of the index of a table. */
  private[scan] def notUsed(table: String): String =
    s"the index of $table is not used for some filters"

  /** What [[failed]] reports of the keys of joins and the values of subqueries. */
  private[scan] def notPrunedAtRunTime(table: String): String =
    s"the keys of joins and the values of subqueries do not prune files of $table"

  /**
   * Counts an error after which some filters of a query prune no files. Other filters may still prune, and the
   * formats Delta and Iceberg prune by themselves, too.
   *
   * @param effect what does not work for the query
   */
  private[skipping] def failed(effect: String, e: Throwable): Unit = {
    failures.increment()
    if (reported.size < maxReported && reported.add(s"$effect $e")) {
      logWarning(s"$effect; the query reads the files that would be skipped otherwise", e)
    }
  }
}

/**
 * Matches errors after which a query reads all files in place of failing. Besides errors of reading, these
 * are a heap too small for the index, a filter too deep for the stack, and a class or method that is
 * missing in another version of a library. Other errors, such as the cancellation of the query or a broken
 * JVM, still stop the query.
 */
private[sparkzorder] object PruningFailure {
  def unapply(e: Throwable): Option[Throwable] = e match {
    case _: OutOfMemoryError | _: StackOverflowError | _: LinkageError => Some(e)
    case NonFatal(_) => Some(e)
    case _ => None
  }

  /**
   * Returns `otherwise` if `body` fails by such an error, and counts and logs the error. If the user has cancelled a
   * job of `body`, the query must fail.
   *
   * @param effect what does not work for the query
   */
  private[sparkzorder] def orElse[T](otherwise: => T, effect: => String)(body: => T): T =
    try body
    catch {
      case PruningFailure(e) if !JobCancellation.isCauseOf(e) =>
        IndexPruning.failed(effect, e)
        otherwise
    }
}
