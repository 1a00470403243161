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
 * Finds and removes hidden files of shadows that no reader reads any more: the shadow is abandoned, a later
 * shadow has replaced the files, or another program has changed a file for which they stand.
 *
 * @param user for the records that tell readers that the files are gone
 */
private[history] final class ShadowCleanup(table: TableState, user: String) {
  private val state = table.state
  private val log = TableLog.read(state)
  private val shadows = log.shadows
  private val inUse: Set[Path] = Shadowed.inUse(state, shadows)
  // the number of the last record that this object has read or written
  private var lastSeen = log.last

  /** Files of one run in one folder. */
  private case class Unused(change: FolderChange, directory: Path, files: Seq[FileStatus])

  /**
   * The hidden files of one run that no reader reads any more.
   *
   * @param isAll true if these are all hidden files of the run
   * @param isTold true when the records already tell readers that the files are gone, or that files of
   *   later runs replace them
   * @param sinceMs when the files went out of use
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
     * First tells readers by a record that the files are gone, and then deletes the files. A reader that
     * knows the record does not look for the files, whatever happens to the visible files meanwhile.
     *
     * @param atOnce if false, files of which readers are told only now are left to a later VACUUM, because
     *   a running query may read them
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

    /**
     * Commits the record, if one is needed. False if other statements have changed the records since the
     * files were found to be unused.
     */
    private def tell(): Boolean = isOver(record) || unused.isEmpty || {
      val note =
        if (isAll && replacing(record).isEmpty) Record.marker(Record.Abandon, record.run, user)
        else Record.marker(Record.Expired, record.run, user).copy(
          version = Record.ShadowVersion,
          changes = unused.map { u =>
            val names = u.files.map(_.getPath.getName).toSet
            // only files of a first pass may have a region, and the note belongs to no pass
            val gone = u.change.added.filter(a => names(a.staged)).map(_.copy(region = 0))
            u.change.copy(replaced = Nil, added = gone)
          }.filter(_.added.nonEmpty))
      // files that no record names belong to failed attempts of tasks: no reader knows them
      val isNews = note.kind == Record.Abandon || note.changes.nonEmpty
      !isNews || Notes.commit(state, note)(_.last != lastSeen) && {
        lastSeen += 1
        true
      }
    }
  }

  /** True for a shadow that cannot come into force again, whatever happens to the visible files. */
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
   * Whether records say that files of the run are out of use, and since when. No record says so of an inert
   * shadow. Then the time of the run counts, and after readers were told the files wait once more.
   */
  private def unusedSince(record: Record): (Boolean, Long) = {
    val told = shadows.abandonOf(record.run).map(_.record) ++ shadows.expiredOf(record.run)
    val later = if (told.nonEmpty) told else replacing(record)
    if (later.isEmpty) (false, record.createdMs) else (true, later.map(_.createdMs).max)
  }

  /** Records of shadows that are not abandoned and that replace files of this run. */
  private def replacing(record: Record): Seq[Record] = {
    val names = record.changes.flatMap(c => c.added.map(a => c.folder -> a.name)).toSet
    shadows.all.map(_.record).filter(r =>
      shadows.abandonOf(r.run).isEmpty && r.changes.exists(c =>
        c.replaced.exists(f => names(c.folder -> f.name))))
  }
}
