package io.sparkzorder.sources.plain

import java.util.UUID

import scala.collection.mutable
import scala.util.Try

import org.apache.hadoop.fs.Path

import org.apache.spark.sql.catalyst.util.DateTimeUtils

import io.sparkzorder.commands.{Phases, TableState, WhereClause}
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.index.IndexUpdate
import io.sparkzorder.log.{StateDirectory, TableLog}
import io.sparkzorder.sources.{BatchPlan, FormatFile, LayoutTag, Replaced}
import io.sparkzorder.table.{FileChecks, TableFiles, TargetChecks}
import io.sparkzorder.table.stats.ScannedFile
import io.sparkzorder.util.Paths
import io.sparkzorder.write.{IntoDirectory, IntoPlaces}

/**
 * Writes a whole copy into an empty directory; the table stays as it is.
 *
 * @param path directory as the statement names it
 */
private[plain] final class Into(
    table: TableState,
    override val path: String,
    recovery: Recovery)
    extends PlainCommitter {
  private val runIds = mutable.Set.empty[String]
  private lazy val directory = {
    val named = new Path(path)
    new IntoDirectory(named.getFileSystem(table.conf).makeQualified(named), table.conf)
  }

  override def check(): Unit = {
    table.check()
    directory.requireEmpty()
    TargetChecks.checkAncestors(directory.fs, directory.root)
    val above = Iterator.iterate(directory.root)(_.getParent).takeWhile(_ != null)
    if (above.contains(table.root)) {
      throw ZOrderErrors.pathInTable(
        directory.root.toString,
        table.root.toString,
        "the source's files")
    }
  }

  // a copy of the files in which some row matches would be neither the table nor the rows that match
  override def checkWhere(where: WhereClause, files: TableFiles): Unit =
    if (where.dataColumns.nonEmpty) {
      throw ZOrderErrors.predicateNotOnPartitions(
        where.sql,
        where.dataColumns,
        table.target.name,
        files.partitionSchema.fieldNames.toSeq)
    }

  override def checkListed(files: TableFiles): Unit = {
    files.outside.headOption.foreach { o =>
      throw ZOrderErrors.partitionOutsideTable(table.target.name, o.spec, o.location)
    }
    val zone = DateTimeUtils.getZoneId(table.user.sessionState.conf.sessionLocalTimeZone)
    FileChecks.checkNames(table.target, files, zone)
  }

  override def checkRoom(files: Seq[ScannedFile]): Unit = {
    val check = new DestinationCheck(table.target.name, directory.fs, directory.root)
    check.directory()
    check.space(files.map(_.file.length).sum)
  }

  override def replace(rows: PlainRows, plan: BatchPlan, layout: LayoutTag, phases: Phases)(
      guard: IndexedSeq[FormatFile] => Unit): Replaced = {
    val runId = UUID.randomUUID().toString
    runIds += runId
    val folders = rows.outputs(plan).map(f => Paths.relative(table.root, f.path)).toArray
    val places = IntoPlaces(directory.root.toString, folders, runId)
    val output = rows.write(plan, places, phases)(guard)
    Replaced(rows.added(output.footers), output.shuffleBytes)
  }

  override def finish(inputs: PlainInputs, added: Seq[ScannedFile], phases: Phases): Unit = {
    val own = runIds.toSet
    directory.fs.mkdirs(directory.root)
    directory.removeOwn(own, keep = added.map(_.file.path.getName).toSet)
    directory.foreign(own).foreach { f =>
      throw ZOrderErrors.targetNotEmpty(directory.root.toString, f)
    }
    requireUntouched()
    val (rows, copied) = (inputs.rows, added.map(_.rows).sum)
    if (rows != copied) {
      throw ZOrderErrors.verificationFailed(table.target.name, s"$copied of $rows rows were copied")
    }
    directory.markSuccess()
    if (added.nonEmpty) {
      phases("index")(IndexUpdate.ofCopy(
        new StateDirectory(directory.root, table.conf),
        added,
        inputs.columns.map(_.parts),
        IndexUpdate.chosen(table.root, table.conf),
        table.conf))
    }
  }

  /** A listing that was made while another run exchanged files has too few rows, or some of them twice. */
  private def requireUntouched(): Unit =
    // looks at the records of all folders: a folder whose files were all moved out for a moment was
    // not listed
    TableLog.read(table.state).after(recovery.lastPublished) match {
      case Some(newer) => newer.map(_._2).find(_.exchangesFiles).foreach { r =>
          conflict(s"run ${r.run} exchanged files while they were being copied")
        }
      case None => conflict("many runs exchanged files while they were being copied")
    }

  private def conflict(problem: String): Nothing =
    throw ZOrderErrors.conflict(table.target.name, problem)

  override def abandon(cause: Throwable): Unit =
    if (runIds.nonEmpty) {
      Try(directory.clearOwn(runIds.toSet)).failed.foreach(cause.addSuppressed)
    }
}
