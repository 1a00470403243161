// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index

import scala.util.control.NonFatal

/**
 * How an update changes an index.
 *
 * @param added entries of files that are new or changed
 * @param gone relative paths of files whose entries the update removes
 * @param keepsOthers false if the update removes the entries of all other files, too
 * @param chosen the columns that the user named; None if the first columns of each file are indexed
 * @param values the index of values; None to keep what the index has
 */
private[sparkzorder] final case class IndexChange(
    added: IndexContent,
    gone: Set[String],
    keepsOthers: Boolean,
    chosen: Option[Seq[Seq[String]]],
    values: Option[HeaderValues] = None)

/** The index before an update. Header, file entries and columns are read only when the update needs them. */
private[sparkzorder] final class IndexBefore private[index] (reader: IndexReader) {
  def header: IndexHeader = guarded(reader.header)
  def column(number: Int): ColumnValues = guarded(reader.column(number))
  def content(): IndexContent = guarded(reader.content())

  /** All entries, also those of removed files and those that a later part replaces. */
  lazy val files: FileTable = guarded(reader.files())

  private[index] def partNames: Seq[String] = guarded(reader.partNames)
  private[index] def parts: PartsReader = guarded(reader.reader)

  private[index] def guarded[T](body: => T): T =
    try body
    catch { case NonFatal(e) => throw new UnreadableIndexException(e) }
}

/**
 * Says that the index before an update cannot be read. If its file is damaged, [[IndexStore.change]] makes a new
 * index. After an error that may be temporary, the update fails.
 */
private[index] final class UnreadableIndexException(cause: Throwable)
    extends RuntimeException(cause)

/**
 * The file that an update writes.
 *
 * @param content entries of the new file
 * @param parts the earlier files that hold the rest of the entries
 */
private[index] final case class PartToWrite(content: IndexContent, parts: Seq[HeaderPart])

/**
 * Decides which parts of an index an update writes again. A part stays if it has at least [[IndexParts.Ratio]] times
 * as many entries as all parts after it together. So the size of the parts grows by about this factor from the
 * newest to the oldest: an index of a million entries has at most about ten parts.
 */
private[sparkzorder] object IndexParts {

  /** A part is merged with the parts after it if it has fewer than this many times their entries. */
  private[index] val Ratio = 4

  /** An index of at most this many entries is always written as a whole, which takes milliseconds. */
  private[index] val Small = 4096

  // tests set it to 0, to make parts of a few entries
  @volatile private var small = Small

  /** For tests: runs `body` with indexes that have several parts, whatever their size is. */
  private[sparkzorder] def withoutSmall[T](body: => T): T = {
    small = 0
    try body
    finally small = Small
  }

  private[index] def toWrite(before: Option[IndexBefore], change: IndexChange): PartToWrite =
    before match {
      case Some(b) if change.keepsOthers =>
        b.guarded {
          val parts = b.parts.parts
          val kept = keptOf(parts, change.added.files.size + change.gone.size)
          val content = merged(new PartsReader(parts.drop(kept)), change, kept > 0)
          PartToWrite(
            content,
            parts.take(kept).map(p =>
              HeaderPart(p.file.getPath.getName, p.header.id, p.size)))
        }
      case _ => PartToWrite(change.added, Nil)
    }

  /** How many parts stay as they are, beginning with the oldest. */
  private def keptOf(parts: IndexedSeq[PartReader], changed: Int): Int = {
    val isSmall = parts.map(_.size).sum + changed <= small
    var kept = if (isSmall) 0 else parts.size
    var after = changed.toLong + parts.drop(kept).map(_.size.toLong).sum
    while (kept > 0 && parts(kept - 1).size < Ratio * after) {
      kept -= 1
      after += parts(kept).size
    }
    kept
  }

  /**
   * The entries of the new file.
   *
   * @param again the parts that are written again
   * @param standsOnParts true if earlier parts stay. They may have entries of removed files, so the new
   *   file must say which files are gone
   */
  private def merged(
      again: PartsReader,
      change: IndexChange,
      standsOnParts: Boolean): IndexContent = {
    val added = pathsOf(change.added.files, _ => true)
    val before = again.all()
    val live = IndexContent.select(
      before,
      i =>
        before.files.isLive(i) && {
          val path = before.files.path(i)
          !added(path) && !change.gone(path)
        })
    val gone =
      if (!standsOnParts) Set.empty[String]
      else pathsOf(before.files, !before.files.isLive(_)) ++ change.gone -- added --
        pathsOf(live.files, _ => true)
    val tombstones = if (gone.isEmpty) None else Some(IndexContent.gone(gone.toSeq.sorted))
    IndexContent.concat((Seq(live, change.added) ++ tombstones).filter(_.files.size > 0) match {
      case Nil => Seq(change.added)
      case some => some
    })
  }

  private def pathsOf(files: FileTable, which: Int => Boolean): Set[String] =
    (0 until files.size).iterator.filter(which).map(files.path).toSet
}
