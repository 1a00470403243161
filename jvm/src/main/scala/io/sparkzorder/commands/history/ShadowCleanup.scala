// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.history

import java.util.concurrent.TimeUnit

import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.sql.sparkzorder.SparkLine.Session

import io.sparkzorder.commands.TableState
import io.sparkzorder.log._
import io.sparkzorder.log.publish.{Leftover, Notes}
import io.sparkzorder.snapshot.{ShadowUse, Snapshot}
import io.sparkzorder.table.TableLister
import io.sparkzorder.util.{Directories, ManyFiles}

/**
 * Hidden files of shadows that no reader reads any more: the shadow is abandoned, a later one has replaced
 * them, or another program has changed a file that they stand for.
 *
 * @param user for the records that tell readers that the files are gone
 */
private[history] final class ShadowCleanup(session: Session, table: TableState, user: String) {
  private val state = table.state
  private val log = TableLog.read(state)
  private val shadows = log.shadows

  /** The files that readers read now. */
  private lazy val inUse: Set[Path] = {
    val listed = new TableLister(session, table.target).list()
    Snapshot.of(state, listed, whole = true, ShadowUse.Checked).files.map(_.path).toSet
  }

  /** Files of one run in one folder. */
  private case class Unused(change: FolderChange, directory: Path, files: Seq[FileStatus])

  /** What one run has hidden and nobody reads. */
  private[history] final class Remains private[ShadowCleanup] (
      record: Record,
      unused: Seq[Unused],
      isAll: Boolean,
      val sinceMs: Long) {
    def kind: String = Leftover.Shadow.name
    def path: Path =
      if (unused.size == 1) unused.head.directory else state.intent(record.run)
    def files: Long = unused.map(_.files.size.toLong).sum
    def bytes: Long = unused.flatMap(_.files).map(_.getLen).sum

    /**
     * Tells readers first, by a record, and deletes the files then. A reader that knows the record does not
     * look for them, whatever happens to the visible files meanwhile.
     */
    def remove(): Boolean = {
      val isAbandoned = shadows.abandonedBy(record.run).isDefined
      if (!isAbandoned) {
        val note =
          if (isAll && !isSuperseded(record)) Record.note(Record.Abandon, record.run, user)
          else Record.note(Record.Expired, record.run, user).copy(
            version = Record.ShadowVersion,
            changes = unused.map { u =>
              val names = u.files.map(_.getPath.getName).toSet
              u.change.copy(replaced = Nil, added = u.change.added.filter(a => names(a.staged)))
            }.filter(_.added.nonEmpty))
        if (note.kind == Record.Abandon || note.changes.nonEmpty) {
          val _ = Notes.commit(state, note)(_.isAbandoned(record.run))
        }
      }
      ManyFiles.map(unused) { u =>
        ManyFiles.map(u.files)(f => state.fs.delete(f.getPath, false))
        Directories.removeEmpty(state.fs, u.directory)
      }
      if (isAll) new Intents(state).remove(record.run)
      true
    }
  }

  /** @param hours the retention, instead of that of each run */
  def expired(hours: Option[Long], nowMs: Long): Seq[Remains] = {
    val noted = new Intents(state).runs()
    for {
      known <- shadows.all if noted(known.record.run)
      record = known.record
      sinceMs = unusedSince(known)
      if nowMs - sinceMs > hours.fold(record.retainMs)(TimeUnit.HOURS.toMillis)
      own = ManyFiles.map(record.changes)(c => c -> state.own(c.folder, record.run))
        .map { case (c, d) => (c, d, state.files(d).filter(_.isFile)) }
      unused = own.map { case (c, d, files) =>
        Unused(c, d, files.filterNot(f => inUse(f.getPath)))
      }.filter(_.files.nonEmpty)
      isAll = own.map(_._3.size).sum == unused.map(_.files.size).sum
      if unused.nonEmpty || isAll
    } yield new Remains(record, unused, isAll, sinceMs)
  }

  /** When the newest of the files went out of use, as far as records tell. */
  private def unusedSince(known: KnownRecord): Long =
    shadows.abandonedBy(known.record.run).map(_.record.createdMs)
      .orElse(replacing(known.record).map(_.createdMs).reduceOption(_ max _))
      .getOrElse(known.record.createdMs)

  private def isSuperseded(record: Record): Boolean = replacing(record).nonEmpty

  /** Records of the shadows that stand for files of this one. */
  private def replacing(record: Record): Seq[Record] = {
    val names = record.changes.flatMap(c => c.added.map(a => c.folder -> a.name)).toSet
    shadows.all.map(_.record).filter(_.changes.exists(c =>
      c.replaced.exists(r => names(c.folder -> r.name))))
  }
}
