// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.execution.command.CommandUtils
import org.apache.spark.sql.sparkzorder.SparkLine.Session

import io.sparkzorder.conf.Settings
import io.sparkzorder.index.IndexUpdate
import io.sparkzorder.log.{Record, StateDirectory, TableLog}
import io.sparkzorder.log.publish.Publisher
import io.sparkzorder.table.{CatalogTables, CatalogTarget, Target, TargetChecks}

/**
 * What all statements about the runs of a table need: checks, the state in `_zorder/`, and a refresh of the
 * session's caches.
 *
 * @param user the user's session, which is not changed
 * @param named the target as the statement names it
 * @param options OPTIONS of the statement
 */
private[sparkzorder] final class TableState(
    val user: Session,
    named: Target,
    options: Map[String, String] = Map.empty)
    extends Logging {
  val conf: Configuration = user.sessionState.newHadoopConf()

  /** The target. The target of a path also has the tables of the catalog whose data are at this path. */
  lazy val target: Target = new CatalogTables(user, conf).known(named)

  lazy val settings: Settings =
    new Settings(options, target.properties, user.conf.getAll, target.defaults).validate()
  lazy val root: Path = target.root(conf)
  lazy val state = new StateDirectory(root, conf)

  /** Refuses unknown settings and wrong values. */
  def checkSettings(): Unit = { val _ = settings }

  /** Refuses a target that is not a table of plain files. */
  def check(): Unit = TargetChecks.check(target, conf)

  /** Like [[check]], and refuses a target whose files cannot be replaced in place. */
  def checkInPlace(): Unit = {
    check()
    TargetChecks.checkCatalog(target)
    TargetChecks.checkInPlace(target, conf, schemes)
  }

  /** True if OPTIMIZE leaves the old files of the table in place, and hides the new files beside them. */
  lazy val isShadowed: Boolean = settings.get(Settings.Publish) match {
    case Some(mode) => mode == Settings.PublishShadow
    case None => TargetChecks.unsafeInPlace(target, conf, schemes).isDefined
  }

  private def schemes: String = settings(Settings.InPlaceSchemes)

  /** Like [[check]], and refuses a file system on which no shadow can be committed. */
  def checkShadow(): Unit = {
    check()
    TargetChecks.checkCatalog(target)
    TargetChecks.checkShadow(target, conf, schemes)
  }

  /**
   * Checks the settings, and the target as [[check]] does. If a committed run is not published yet, refuses a
   * target whose files cannot be replaced in place.
   */
  def checkPublishing(): Unit = {
    checkSettings()
    check()
    // checkCatalog is left out: the run passed it before its commit, and the run must be published in any case
    if (TableLog.read(state).unfinished.nonEmpty) {
      TargetChecks.checkInPlace(target, conf, schemes)
    }
  }

  /**
   * Ends the committed runs that are not published: publishes them, or abandons those that an earlier ABANDON gave up.
   * Then updates the index for all these runs.
   *
   * @return the records of all these runs
   */
  def rollForward(): Seq[Record] = ending(new Publisher(state).rollForward(_))

  /**
   * Abandons the committed runs that are not published. Then updates the index: a run may have been published in some
   * folders before, and its files stay there.
   *
   * @return the records of all these runs
   */
  def abandonAll(): Seq[Record] =
    ending(_ => new Publisher(state).abandonAll(user.sparkContext.sparkUser))

  private def ending(body: TableLog => Seq[Record]): Seq[Record] = {
    val log = TableLog.read(state)
    val runs = indexingEnded(log.unfinished)(body(log))
    IndexUpdate.recovered(user, state, runs, target)
    runs
  }

  /** Publishes a run. The caller updates the index, except after an error. */
  def publish(number: Long, record: Record): Unit =
    indexingEnded(Seq(number -> record))(new Publisher(state).publish(number, record))

  /**
   * Updates the index for the runs that have ended, if `publish` fails. No later run would do so. Either a run met a
   * conflict in some folders and is published in the others, or a later one of several runs failed.
   */
  private def indexingEnded[T](runs: Seq[(Long, Record)])(publish: => T): T =
    try publish
    catch {
      case NonFatal(e) =>
        Try {
          val ended = runs.filter { case (number, _) => state.isDone(number) }.map(_._2)
          IndexUpdate.recovered(user, state, ended, target)
        }.failed.foreach(e.addSuppressed)
        throw e
    }

  /** Runs `body`, which may exchange files. Then refreshes the session, also after a failure. */
  def exchanging[T](body: => T): T =
    try body
    finally refresh()

  /**
   * Makes the session forget listings of a table whose files were exchanged, and updates the table's
   * size in the catalog. An error is logged only: the files are exchanged, and a user who is told of an error
   * would, for example, repeat UNDO LAYOUT and so undo one run more.
   */
  def refresh(): Unit = {
    target match {
      case CatalogTarget(t) => orLog(user.catalog.refreshTable(t.identifier.quotedString))
      case _ =>
    }
    orLog(target.tables.foreach(SizeStatistics.update(user, _)))
    // other tables of the catalog may have the same path, and each has a listing of its own
    orLog(user.sessionState.catalog.invalidateAllCachedTables())
    orLog(user.catalog.refreshByPath(root.toString))
  }

  private def orLog(step: => Unit): Unit =
    try step
    catch {
      case NonFatal(e) => logWarning(s"${target.name} could not be refreshed in the session", e)
    }
}

/**
 * Updates the statistics of the catalog for a table whose files were exchanged. The rows are the same, so only the
 * size changes. The other statistics of ANALYZE TABLE stay.
 */
private[sparkzorder] object SizeStatistics extends Logging {

  /** Writes the new size where the catalog has a size. A failure is only logged, because statistics are hints. */
  def update(session: Session, table: CatalogTable): Unit =
    try {
      val catalog = session.sessionState.catalog
      val now = catalog.getTableMetadata(table.identifier)
      val known =
        if (now.partitionColumnNames.isEmpty || !now.tracksPartitionsInCatalog) Nil
        else catalog.listPartitions(table.identifier).filter(_.stats.isDefined)
      if (now.stats.isDefined || known.nonEmpty) {
        val (size, changed) = CommandUtils.calculateTotalSize(session, now)
        now.stats.filter(_.sizeInBytes != size).foreach { s =>
          catalog.alterTableStats(table.identifier, Some(s.copy(sizeInBytes = size)))
        }
        val before = known.map(p => p.spec -> p.stats.get).toMap
        val resized = for (p <- changed; was <- before.get(p.spec))
          yield p.copy(stats = p.stats.map(s => was.copy(sizeInBytes = s.sizeInBytes)))
        if (resized.nonEmpty) catalog.alterPartitions(table.identifier, resized)
      }
    } catch {
      case NonFatal(e) =>
        logWarning(s"cannot update the size of ${table.identifier} in the catalog", e)
    }
}
