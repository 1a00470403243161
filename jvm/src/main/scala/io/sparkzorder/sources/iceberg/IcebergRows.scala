// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.iceberg

import java.util.UUID

import scala.collection.JavaConverters._
import scala.util.Try
import scala.util.control.NonFatal

import org.apache.iceberg.{BaseTable, DataFile, FileFormat, TableProperties}
import org.apache.iceberg.exceptions.{CleanableFailure, CommitFailedException, ValidationException}
import org.apache.iceberg.io.LocationProvider
import org.apache.iceberg.spark.{
  FileRewriteCoordinator,
  ScanTaskSetManager,
  SparkTableCache,
  SparkWriteOptions
}
import org.apache.iceberg.util.PartitionMap

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.expressions.AttributeReference
import org.apache.spark.sql.catalyst.plans.logical.AppendData
import org.apache.spark.sql.catalyst.util.METADATA_COL_ATTR_KEY
import org.apache.spark.sql.execution.{CommandExecutionMode, SQLExecution}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.functions.col
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.sparkzorder.SparkLine.{Frame, Session}
import org.apache.spark.sql.types.{MetadataBuilder, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.sources.{
  FormatFolder,
  LayoutTag,
  PlacedRows,
  PlannedPass,
  StagedFiles,
  StagedRows
}
import io.sparkzorder.write.FileWriter

/**
 * Entries in three registries of Iceberg: the table, the tasks to read, and the new files. By these registries,
 * Iceberg's own rewrites pass objects to the scan and the writer. The key of all three entries is `id`.
 */
private[iceberg] final class Staging(
    table: BaseTable,
    columns: Seq[IcebergColumn],
    files: Seq[IcebergFile])
    extends AutoCloseable {
  val id: String = UUID.randomUUID().toString
  private val staged = new RewrittenTable(table, columns)

  try {
    SparkTableCache.get.add(id, staged)
    ScanTaskSetManager.get.stageTasks(staged, id, files.map(_.task).asJava)
  } catch {
    case e: Throwable =>
      close()
      throw e
  }

  /** Sets the pass that the names of new files contain from now on. */
  def name(pass: Option[PlannedPass]): Unit = staged.pass = pass

  def newFiles: IndexedSeq[DataFile] =
    FileRewriteCoordinator.get.fetchNewFiles(staged, id).asScala.toIndexedSeq

  override def close(): Unit = {
    SparkTableCache.get.remove(id)
    ScanTaskSetManager.get.removeTasks(staged, id)
    FileRewriteCoordinator.get.clearRewrite(staged, id)
  }
}

/** The rows of the files whose tasks are staged. */
private[iceberg] final class IcebergRows(
    table: BaseTable,
    name: String,
    snapshot: IcebergSnapshot,
    override protected val session: Session,
    override val files: IndexedSeq[IcebergFile],
    staging: Staging)
    extends StagedRows
    with Logging {
  override type File = IcebergFile

  override val folders: IndexedSeq[FormatFolder] = files.map(_.folder).distinct
  private val spec = folders.map(_.group).distinct match {
    case Seq(one) => one
    case several => throw new IllegalArgumentException(s"files of the specs $several in one job")
  }

  private val relation: DataSourceV2Relation =
    session.read.format("iceberg").option(IcebergRows.TaskSet, staging.id).load(staging.id)
      .queryExecution.analyzed.collectFirst { case r: DataSourceV2Relation => r }.get

  // Iceberg marks the columns of row lineage as metadata columns. If the output of a relation has such a mark, Spark
  // finds no other metadata columns, such as `_file`.
  private val loaded: Frame =
    SparkLine.frame(session, relation.copy(output = relation.output.map(IcebergRows.unmarked)))

  /** The table's columns, and the columns of row lineage in a table that has them. */
  override def schema: StructType = loaded.schema

  override protected val placed: PlacedRows =
    new PlacedRows(session, loaded, col("_file"), col("_pos"), files, folders)

  override protected def write(
      laidOut: Frame,
      pass: Option[PlannedPass]): StagedFiles[IcebergFile] = {
    staging.name(pass)
    // Spark refuses a write with options to a relation with other options
    val target = relation.copy(options = CaseInsensitiveStringMap.empty)
    val plan = AppendData.byName(target, laidOut.queryExecution.analyzed, options)
    // A data frame runs its command at once. If the command failed, its plan would be lost, and `endShuffles` needs
    // the plan.
    val execution = session.sessionState.executePlan(plan, CommandExecutionMode.NON_ROOT)
    try {
      val _ = SQLExecution.withNewExecutionId(execution, Some("command")) {
        execution.executedPlan.executeCollect()
      }
      val shuffled = FileWriter.endShuffles(execution.executedPlan)
      new StagedFiles(staging.newFiles.map(fileOf), shuffled)
    } catch {
      case e: Throwable =>
        Try(FileWriter.endShuffles(execution.executedPlan)).failed.foreach(e.addSuppressed)
        delete(Try(staging.newFiles).getOrElse(Nil).map(_.location))
        throw e
    }
  }

  // every task writes the rows of one file, so Iceberg must not split, sort or shuffle them
  private def options: Map[String, String] = Map(
    IcebergRows.RewrittenTaskSet -> staging.id,
    SparkWriteOptions.USE_TABLE_DISTRIBUTION_AND_ORDERING -> "false",
    SparkWriteOptions.FANOUT_ENABLED -> "false",
    SparkWriteOptions.TARGET_FILE_SIZE_BYTES -> Long.MaxValue.toString,
    SparkWriteOptions.OUTPUT_SPEC_ID -> spec.toString)

  private def fileOf(file: DataFile): IcebergFile = {
    val folder = Option(byPartition.get(file.specId, file.partition)).getOrElse {
      throw ZOrderErrors.verificationFailed(
        table.name,
        s"${file.location} has the partition ${file.partition}, which no input has")
    }
    new IcebergFile(file, null, folder, described.infos(file), None, isForgotten = false)
  }

  private lazy val described = new IcebergFiles(table, snapshot.fields)

  private lazy val byPartition: PartitionMap[FormatFolder] = {
    val map = PartitionMap.create[FormatFolder](table.specs)
    files.foreach(f => map.put(f.file.specId, f.file.partition, f.folder))
    map
  }

  /** Replaces the files by one `RewriteFiles`. */
  override protected def commit(staged: StagedFiles[IcebergFile], layout: LayoutTag): Unit = {
    val start = snapshot.current.get
    val layouts = new IcebergLayouts(table)
    val before = layouts.snapshotsOf(layout.run)
    try {
      // The new files get the sequence number of this commit, and not that of the start. With the number of the start,
      // equality deletes that came since then would apply to the new files. But Iceberg might drop these deletes in
      // this commit: it drops deletes that are older than every file that stays. With the number of this commit, such
      // deletes are a conflict.
      val rewrite = GuardedCommit.of(table, files).newRewrite()
        .validateFromSnapshot(start.snapshotId)
      files.foreach { f =>
        rewrite.deleteFile(f.file)
        // a deletion vector belongs to one data file; other delete files may belong to several
        f.task.deletes.asScala.filter(_.format == FileFormat.PUFFIN)
          .foreach(rewrite.deleteFile(_))
      }
      staged.files.foreach(f => rewrite.addFile(f.file))
      layouts.summary(layout).foreach { case (k, v) => rewrite.set(k, v) }
      rewrite.commit()
    } catch {
      // other failures may come after the commit, and then the table needs the new files
      case e: Exception
          if e.isInstanceOf[CleanableFailure] && isMissing(layouts, layout, before) =>
        abort(staged)
        e match {
          case twice: ListedTwiceException => throw IcebergFile.listedTwice(name, twice.path)
          case _: ValidationException | _: CommitFailedException =>
            throw ZOrderErrors.conflict(name, e.getMessage.stripSuffix("."), Some(e))
          case _ => throw e
        }
      case e: Exception =>
        logWarning(
          s"it is not known whether OPTIMIZE on $name was committed, so its new files stay. It was " +
            s"committed if a snapshot of the table has zorder-run=${layout.run} in its summary")
        throw e
    }
  }

  /**
   * True if the table certainly has no snapshot of this commit. If the answer to a commit is lost, the commit is
   * repeated, by Iceberg or on the way to the catalog. The second attempt then fails because the first has succeeded.
   */
  private def isMissing(layouts: IcebergLayouts, layout: LayoutTag, before: Set[Long]): Boolean =
    try {
      table.refresh()
      layouts.snapshotsOf(layout.run).subsetOf(before)
    } catch { case NonFatal(_) => false }

  override protected def abort(staged: StagedFiles[IcebergFile]): Unit =
    delete(staged.files.map(_.path))

  /** Deletes written files. A file that cannot be deleted stays as an orphan file of the table. */
  private def delete(written: Seq[String]): Unit = written.foreach { f =>
    try table.io.deleteFile(f)
    catch { case NonFatal(e) => logWarning(s"$f was written and could not be deleted", e) }
  }

  override def close(): Unit = staging.close()
}

private object IcebergRows {
  // Iceberg for Spark 3.5 and 4.0 reads these options. On 4.1 the id is enough
  val TaskSet = "scan-task-set-id"
  val RewrittenTaskSet = "rewritten-file-scan-task-set-id"

  def unmarked(a: AttributeReference): AttributeReference =
    a.withMetadata(
      new MetadataBuilder().withMetadata(a.metadata).remove(METADATA_COL_ATTR_KEY).build())
}

/**
 * The table as Iceberg's writer sees it during this write: with bounds for all ordering columns, and with names
 * of files that contain the pass.
 */
private[iceberg] final class RewrittenTable(table: BaseTable, columns: Seq[IcebergColumn])
    extends BaseTable(table.operations, table.name) {

  /** Which of two passes writes the new files; None for a layout in a single pass. */
  @volatile var pass: Option[PlannedPass] = None

  override def locationProvider: LocationProvider =
    pass.fold(super.locationProvider)(new LocationsOfPass(super.locationProvider, _))

  override def properties: java.util.Map[String, String] = {
    val own = super.properties.asScala
    val modes = org.apache.iceberg.MetricsConfig.forTable(table)
    val weak = columns.map(_.path).filter(c => Set("none", "counts")(modes.columnMode(c).toString))
    (own.toMap ++ weak.map(c =>
      TableProperties.METRICS_MODE_COLUMN_CONF_PREFIX + c -> "truncate(16)"))
      .asJava
  }
}
