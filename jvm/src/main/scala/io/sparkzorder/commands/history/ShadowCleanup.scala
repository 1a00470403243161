// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.history

import java.util.concurrent.TimeUnit

import org.apache.hadoop.fs.{FileStatus, Path}

import io.sparkzorder.commands.TableState
import io.sparkzorder.log._
import io.sparkzorder.log.publish.{Leftover, Notes}
import io.sparkzorder.snapshot.Shadowed
import io.sparkzorder.util.{Directories, ManyFiles}

/**
 * Hidden files of shadows that no reader reads any more: the shadow is abandoned, a later one has replaced
 * them, or another program has changed a file that they stand for.
 *
 * @param user for the records that tell readers that the files are gone
 */
private[history] final class ShadowCleanup(table: TableState, user: String) {
  private val state = table.state
  private val log = TableLog.read(state)
  private val shadows = log.shadows
  private val inUse: Set[Path] = Shadowed.inUse(state, shadows)
  // each note of ours is a record, too
  private var lastSeen = log.last

  /** Files of one run in one folder. */
  private case class Unused(change: FolderChange, directory: Path, files: Seq[FileStatus])

  /**
   * What one run has hidden and nobody reads.
   *
   * @param isTold true when the records tell readers that the files are gone, or that later ones count
   */
  private[history] final class Remains private[ShadowCleanup] (
      record: Record,
      unused: Seq[Unused],
      isAll: Boolean,
      isTold: Boolean,
      val sinceMs: Long) {
    def kind: String = Leftover.Shadow.name
    def path: Path =
      if (unused.size == 1) unused.head.directory else state.intent(record.run)
    def files: Long = unused.map(_.files.size.toLong).sum
    def bytes: Long = unused.flatMap(_.files).map(_.getLen).sum

    /**
     * Tells readers first, by a record, and deletes the files then. A reader that knows the record does not
     * look for them, whatever happens to the visible files meanwhile.
     *
     * @param atOnce false leaves files of which readers were told just now to a later VACUUM, since a query that
     *   is at work may read them
     * @return false if the files stay
     */
    def remove(atOnce: Boolean): Boolean = tell() && (isTold || atOnce) && {
      ManyFiles.map(unused) { u =>
        ManyFiles.map(u.files)(f => state.fs.delete(f.getPath, false))
        Directories.removeEmpty(state.fs, u.directory)
      }
      if (isAll && isOver(record)) new Intents(state).remove(record.run)
      true
    }

    /** False if other statements have changed the records since the files were found to be unused. */
    private def tell(): Boolean = isOver(record) || unused.isEmpty || {
      val note =
        if (isAll && replacing(record).isEmpty) Record.marker(Record.Abandon, record.run, user)
        else Record.marker(Record.Expired, record.run, user).copy(
          version = Record.ShadowVersion,
          changes = unused.map { u =>
            val names = u.files.map(_.getPath.getName).toSet
            // the note is of no pass, so that its files have no regions
            val gone = u.change.added.filter(a => names(a.staged)).map(_.copy(region = 0))
            u.change.copy(replaced = Nil, added = gone)
          }.filter(_.added.nonEmpty))
      // files that no record names are of attempts that failed
      val isNews = note.kind == Record.Abandon || note.changes.nonEmpty
      !isNews || Notes.commit(state, note)(_.last != lastSeen) && {
        lastSeen += 1
        true
      }
    }
  }

  /** True for a shadow that is in force nowhere, whatever happens to the visible files. */
  private def isOver(record: Record): Boolean =
    shadows.abandonOf(record.run).isDefined ||
      record.changes.forall(c => shadows.isPublished(record.run, c.folder))

  /** @param hours the retention, instead of that of each run */
  def expired(hours: Option[Long], nowMs: Long): Seq[Remains] = {
    val noted = new Intents(state).runs()
    for {
      known <- shadows.all
      record = known.record
      if noted(record.run) || shadows.abandonOf(record.run).isEmpty
      (isTold, sinceMs) = unusedSince(record)
      if nowMs - sinceMs > hours.fold(record.retainMs)(TimeUnit.HOURS.toMillis)
      own = ManyFiles.map(record.changes)(c => c -> state.own(c.folder, record.run))
        .map { case (c, d) => (c, d, state.files(d).filter(_.isFile)) }
      unused = own.map { case (c, d, files) =>
        Unused(c, d, files.filterNot(f => inUse(f.getPath)))
      }.filter(_.files.nonEmpty)
      isAll = own.map(_._3.size).sum == unused.map(_.files.size).sum
      if unused.nonEmpty || isAll && isOver(record) && noted(record.run)
    } yield new Remains(record, unused, isAll, isTold, sinceMs)
  }

  /**
   * When the newest of the files went out of use, as far as records tell. Of a shadow that is inert they do not:
   * then the time of the run counts, and the files wait once more after readers were told.
   */
  private def unusedSince(record: Record): (Boolean, Long) = {
    val told = shadows.abandonOf(record.run).map(_.record) ++ shadows.expiredOf(record.run)
    val later = if (told.nonEmpty) told else replacing(record)
    if (later.isEmpty) (false, record.createdMs) else (true, later.map(_.createdMs).max)
  }

  /** Records of the shadows in force that stand for files of this one. */
  private def replacing(record: Record): Seq[Record] = {
    val names = record.changes.flatMap(c => c.added.map(a => c.folder -> a.name)).toSet
    shadows.all.map(_.record).filter(r =>
      shadows.abandonOf(r.run).isEmpty && r.changes.exists(c =>
        c.replaced.exists(f => names(c.folder -> f.name))))
  }
}
