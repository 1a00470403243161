// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.plain

import scala.util.control.NonFatal

import org.apache.hadoop.fs.Path

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.expressions.Expression

import io.sparkzorder.commands.{TableState, WhereClause}
import io.sparkzorder.conf.Settings
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.index.IndexUpdate
import io.sparkzorder.log._
import io.sparkzorder.log.publish.Committer
import io.sparkzorder.snapshot.{Shadowed, ShadowedFolder}
import io.sparkzorder.table.{DataFile, FileChecks, TableFiles, TableLister}
import io.sparkzorder.table.stats.{FooterReader, ScannedFile}
import io.sparkzorder.util.{Directories, FileMove, ManyFiles, Paths}

/**
 * Replaces visible files by hidden files: where a shadow is in force, its hidden files get visible names, and the
 * files for which they stand are hidden. The exchange has the steps of OPTIMIZE in place.
 *
 * First the hidden files are moved into the directories of the new run. Until the record of this run is
 * committed, readers find the hidden files missing and read the visible files.
 */
private[sparkzorder] final class PublishedShadow(table: TableState, where: Option[Expression])
    extends Logging {
  private val name = table.target.name
  private val state = table.state

  /** Milliseconds that the exchange took, and its record; None if no shadow is in force. */
  def run(): Option[(Long, Record)] = {
    val before = TableLog.read(state)
    // A run that is being published may not have moved its inputs yet. A shadow of these inputs would then seem to
    // be in force.
    if (before.unfinished.nonEmpty) {
      throw ZOrderErrors.conflict(name, "another OPTIMIZE is publishing its files")
    }
    val listed = list()
    val folders = Shadowed.folders(state, before.shadows, listed)
    if (folders.isEmpty) None else Some(publish(before, listed, folders))
  }

  private def list(): TableFiles = {
    var tokens = Seq.empty[Path]
    val chosen = new TableLister(table.user, table.target).list(
      all => clauseOver(all).fold(all)(new PartitionsOfWhere(table, _).choose(all)),
      (files, _) => {
        tokens = files.tokens
        files
      })
    new LostRecords(table.state).check(tokens, chosen)
    chosen
  }

  private def clauseOver(files: TableFiles): Option[WhereClause] = where.map { w =>
    WhereClause.check(w, name)
    val resolver = table.user.sessionState.conf.resolver
    val clause = new WhereClause(w, table.target, files.partitionSchema, resolver)
    clause.requireOnPartitions("PUBLISH LAYOUT")
    clause
  }

  private def publish(
      before: TableLog,
      listed: TableFiles,
      folders: Seq[ShadowedFolder]): (Long, Record) = {
    val inputs = listed.copy(files = folders.flatMap(_.replaced).toIndexedSeq)
    FileChecks.checkLinks(table.target, inputs)
    new DestinationCheck(name, state.fs, table.root).replaced(inputs.files)
    val hidden = new RenamedFiles(table, inputs)
    val moves = folders.flatMap(f => movesOf(f, hidden.run))
    val record = recordOf(before, folders, moves, hidden.run)
    try {
      hidden.prepare()
      ManyFiles.map(moves)(_.make())
      hidden.complete(footersOf(moves, inputs), record)
      val number = new Committer(state, name)
        .commit(record, () => recheck(inputs), before.last)
      logInfo(s"shadows of ${record.published.mkString(", ")} on $name are published by run " +
        s"${record.run}, record $number")
      val start = System.nanoTime()
      table.publish(number, record)
      val millis = (System.nanoTime() - start) / 1000000L
      IndexUpdate.recovered(table.user, state, Seq(record), table.target)
      removeEmptied(moves)
      (millis, record)
    } catch {
      case t: Throwable =>
        if (!hidden.isCommitted) {
          // after a file that cannot be moved back, the other files are still moved back
          moves.foreach { m =>
            try m.takeBack()
            catch { case NonFatal(e) => t.addSuppressed(e) }
          }
          hidden.discard()
        }
        throw t
    }
  }

  /** A hidden file on its way from the directory of a shadow to that of the new run. */
  private case class Move(
      folder: ShadowedFolder,
      shadow: Record,
      added: Added,
      to: Path,
      staged: String) {
    private def from = new Path(state.own(folder.folder, shadow.run), added.staged)

    def make(): Unit =
      if (!FileMove.rename(state.fs, from, to)) {
        throw ZOrderErrors.conflict(name, s"the hidden file $from was removed")
      }

    def takeBack(): Unit = FileMove.rename(state.fs, to, from)
  }

  private def movesOf(folder: ShadowedFolder, run: String): Seq[Move] =
    folder.added.sortBy(_._2.name).zipWithIndex.map { case ((step, a), i) =>
      val staged = RunFolder.newName(i, 0)
      Move(folder, step.known.record, a, new Path(state.own(folder.folder, run), staged), staged)
    }

  private def recordOf(
      before: TableLog,
      folders: Seq[ShadowedFolder],
      moves: Seq[Move],
      run: String): Record = {
    val runs = folders.flatMap(_.runs).toSet
    val layout = before.all.reverse.map(_._2).filter(r => r.makesShadow && runs(r.run))
    val newest = layout.find(_.columns.nonEmpty).getOrElse(layout.head)
    val byFolder = moves.groupBy(_.folder.folder)
    // Files of a first pass still need the second pass. `RunsOfFiles` reads from the record of the shadow of which plan
    // and pass each file is, and its layout. What this record tells counts only if that record is gone.
    val plan = moves.filter(_.added.region > 0).flatMap(_.shadow.planId).distinct match {
      case Seq(one) => Some(one)
      case _ => None
    }
    Record(
      Record.Version,
      Record.Optimize,
      run,
      System.currentTimeMillis(),
      table.user.sparkContext.sparkUser,
      newest.columns,
      table.settings(Settings.Retention),
      folders.map(f =>
        FolderChange(
          f.folder,
          f.replaced.zipWithIndex.map { case (d, i) =>
            Replaced(d.path.getName, d.length, d.modified, RunFolder.retainedName(i))
          },
          byFolder(f.folder).map(m =>
            m.added.copy(staged = m.staged, region = if (plan.isEmpty) 0 else m.added.region)))),
      targetFileSize = newest.targetFileSize,
      suffix = newest.suffix,
      weights = newest.weights,
      layoutSinceMs = newest.layoutSinceMs,
      published = runs.toSeq.sorted,
      plan = plan.getOrElse(""),
      level = plan.fold("")(_ => Record.Dealt))
  }

  /** Reads the footers, which shows that the files can be read. */
  private def footersOf(moves: Seq[Move], inputs: TableFiles): Seq[ScannedFile] = {
    val own = inputs.folders.map(f => Paths.relative(table.root, f.path) -> f).toMap
    val files = ManyFiles.map(moves)(m =>
      DataFile(own(m.folder.folder), state.fs.getFileStatus(m.to)))
    val footers = FooterReader.read(files, table.conf, table.target.format)
    moves.zip(footers).foreach { case (m, f) =>
      if (f.rows != m.added.rows) {
        throw ZOrderErrors.verificationFailed(
          name,
          s"the hidden file ${m.added.name} has ${f.rows} rows, its record says ${m.added.rows}")
      }
    }
    footers
  }

  private def recheck(inputs: TableFiles): Unit = {
    val folders = inputs.files.map(_.folder).distinct
    val now = new TableLister(table.user, table.target).listAgain(folders)
    inputs.files.find(f => !now.get(f.path).exists(f.isUnchanged)).foreach { f =>
      throw ZOrderErrors.conflict(name, s"${f.path} was removed or overwritten")
    }
  }

  private def removeEmptied(moves: Seq[Move]): Unit =
    try {
      ManyFiles.map(moves.map(m => state.own(m.folder.folder, m.shadow.run)).distinct)(
        Directories.removeEmpty(state.fs, _))
    } catch { case NonFatal(e) => logWarning(s"empty directories of shadows are left on $name", e) }
}
