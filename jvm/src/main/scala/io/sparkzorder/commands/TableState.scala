package io.sparkzorder.commands

import scala.util.Try

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import org.apache.spark.sql.sparkzorder.SparkLine.Session

import io.sparkzorder.conf.Settings
import io.sparkzorder.index.IndexUpdate
import io.sparkzorder.log.{Publisher, Record, StateDirectory}
import io.sparkzorder.table.{CatalogTarget, DataFormat, Target, TargetChecks}

/**
 * What the statements about the runs of a table have in common: checks, `_zorder/`, and the session's
 * caches.
 *
 * @param user the user's session
 */
private[sparkzorder] final class TableState(user: Session, target: Target) {
  val conf: Configuration = user.sessionState.newHadoopConf()
  lazy val settings: Settings =
    new Settings(Map.empty, target.properties, user.conf.getAll, target.defaults).validate()
  lazy val root: Path = target.root(conf)
  lazy val state = new StateDirectory(root, conf)

  /** Refuses what is no table of plain files. */
  def check(): Unit = TargetChecks.check(target, conf)

  /** Refuses also where files cannot be replaced in place, so that nothing of ours can be there. */
  def checkInPlace(): Unit = {
    check()
    TargetChecks.checkInPlace(target, conf, settings(Settings.InPlaceSchemes))
  }

  def rollForward(): Seq[Record] = TableState.rollForward(user, state, target.format)

  /** Runs what may exchange files; the session's caches learn of it, also when it fails half-way. */
  def exchanging[T](body: => T): T = {
    val result =
      try body
      catch {
        case e: Throwable =>
          Try(TableState.refresh(user, target, root)).failed.foreach(e.addSuppressed)
          throw e
      }
    TableState.refresh(user, target, root)
    result
  }
}

private[sparkzorder] object TableState {

  /** Publishes what was committed and not published, with its entries in the index. */
  def rollForward(user: Session, state: StateDirectory, format: DataFormat): Seq[Record] = {
    val runs = new Publisher(state).rollForward()
    IndexUpdate.recovered(user, state, runs, format)
    runs
  }

  /**
   * Makes the session forget listings of a table whose files were exchanged, and the catalog the bytes
   * that it had.
   */
  def refresh(user: Session, target: Target, root: Path): Unit = {
    target match {
      case CatalogTarget(t) =>
        user.catalog.refreshTable(t.identifier.quotedString)
        SizeStatistics.update(user, t)
      case _ =>
    }
    // tables of the catalog that lie at the same path, each with a listing of its own
    user.sessionState.catalog.invalidateAllCachedTables()
    user.catalog.refreshByPath(root.toString)
  }
}
