// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Objects

import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.sql.catalyst.expressions.XXH64
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.array.ByteArrayMethods

import io.sparkzorder.util.ModificationTimes

/**
 * A hash table with open addressing over the paths of an index. If two entries have the same path, the
 * later entry counts, and the constructor marks the earlier entry as [[FileTable.Gone]] in `table`.
 *
 * @param later the position of the first entry that may repeat the path of an earlier entry
 */
private[index] final class PathSlots(val table: FileTable, later: Int) {
  private val slots = {
    val size = Integer.highestOneBit(math.max(4, table.size)) * 4
    val made = Array.fill(size)(-1)
    var i = 0
    while (i < table.size) {
      val (from, to) = (table.paths.start(i), table.paths.ends(i))
      var at = hash(table.paths.data, from, to - from) & (size - 1)
      while (made(at) >= 0 &&
        !(i >= later && isPath(made(at), table.paths.data, from, to - from))) {
        at = (at + 1) & (size - 1)
      }
      if (made(at) >= 0) table.lengths(made(at)) = FileTable.Gone
      made(at) = i
      i += 1
    }
    made
  }

  def bytes: Long = table.bytes + 4L * slots.length

  /** The entry of a path; -1 if there is none. */
  def find(path: Array[Byte], from: Int, length: Int): Int = {
    val mask = slots.length - 1
    var at = hash(path, from, length) & mask
    var i = slots(at)
    while (i >= 0 && !isPath(i, path, from, length)) {
      at = (at + 1) & mask
      i = slots(at)
    }
    i
  }

  def isPath(i: Int, path: Array[Byte], from: Int, length: Int): Boolean = {
    val start = table.paths.start(i)
    table.paths.ends(i) - start == length &&
    PathSlots.same(path, from, table.paths.data, start, length)
  }

  private def hash(bytes: Array[Byte], from: Int, length: Int): Int = {
    val h = XXH64.hashUnsafeBytes(bytes, Platform.BYTE_ARRAY_OFFSET.toLong + from, length, 42L)
    (h ^ (h >>> 32)).toInt
  }
}

private[index] object PathSlots {
  def same(a: Array[Byte], aFrom: Int, b: Array[Byte], bFrom: Int, length: Int): Boolean =
    ByteArrayMethods.arrayEquals(
      a,
      Platform.BYTE_ARRAY_OFFSET.toLong + aFrom,
      b,
      Platform.BYTE_ARRAY_OFFSET.toLong + bFrom,
      length.toLong)
}

/** Finds the entries of files by their paths. */
private[sparkzorder] final class PathLookup private[index] (root: Path, slots: PathSlots)
    extends Sized {

  /** @param table has at most one entry for each path */
  def this(root: Path, table: FileTable) = this(root, new PathSlots(table, table.size))

  val table: FileTable = slots.table
  private val (scheme, authority) = (root.toUri.getScheme, root.toUri.getAuthority)
  private val prefix = Relative.prefix(root).getBytes(UTF_8)

  override def bytes: Long = slots.bytes

  /** Looks up the files of one listing, one after the other. Not thread-safe. */
  final class Walk private[PathLookup] () {
    private var next = 0

    /** Like [[indexOf]], but first tries the entry that follows the entry of the previous file. */
    def find(file: FileStatus): Int = {
      val found = indexOf(file, next)
      if (found >= 0) next = found + 1
      found
    }
  }

  def walk(): Walk = new Walk

  /**
   * @return the position of a listed file in the index; -1 if the index has no entry for the file,
   *   or an entry with another length or modification time
   * @param guess the position to try first: listings mostly have the order of the index
   */
  def indexOf(status: FileStatus, guess: Int = 0): Int = {
    val uri = status.getPath.toUri
    if (!Objects.equals(uri.getScheme, scheme) || !Objects.equals(uri.getAuthority, authority)) -1
    else {
      val path = uri.getPath.getBytes(UTF_8)
      val length = path.length - prefix.length
      if (length <= 0 || !PathSlots.same(path, 0, prefix, 0, prefix.length)) -1
      else {
        val guessed = guess < table.size && table.isLive(guess) &&
          slots.isPath(guess, path, prefix.length, length)
        val i = if (guessed) guess else slots.find(path, prefix.length, length)
        if (i >= 0 && isFresh(i, status.getLen, status.getModificationTime)) i else -1
      }
    }
  }

  /**
   * @param path below the root
   * @return the position of the entry with this path, length and modification time; -1 if there is none
   */
  private[index] def entryOf(path: Array[Byte], length: Long, modified: Long): Int = {
    val i = slots.find(path, 0, path.length)
    if (i >= 0 && table.isLive(i) && isFresh(i, length, modified)) i else -1
  }

  private def isFresh(i: Int, length: Long, modified: Long): Boolean =
    table.lengths(i) == length && table.modified(i) == modified &&
      ModificationTimes.tellChanges(modified)
}

/** Paths of data files relative to their table, as the file system lists them, without URI escapes. */
private[sparkzorder] object Relative {

  /** The path below `root`; the whole path for a file elsewhere. */
  def path(root: Path, file: Path): String = below(root, file).getOrElse(file.toString)

  /** None for a file that does not lie below `root`. */
  def below(root: Path, file: Path): Option[String] = {
    val above = prefix(root)
    Some(file.toUri.getPath).filter(_.startsWith(above)).map(_.substring(above.length))
  }

  private[index] def prefix(root: Path): String = root.toUri.getPath.stripSuffix("/") + "/"
}

/**
 * Maps the files of a listing to their entries in the index. A listing mostly has the order of the index,
 * so the map is stored as runs. A run is a series of consecutive files of one directory that have
 * consecutive entries, or no entries at all.
 *
 * @param firstRun for each directory the position of its first run; the last element is the number of all
 *   runs
 * @param positions for each run the position of its first file in the directory
 * @param entries for each run the entry of its first file, or -1 if its files have no entries
 * @param sizes for each run the number of its files
 */
private[sparkzorder] final class ListedEntries private (
    val firstRun: Array[Int],
    val positions: Array[Int],
    val entries: Array[Int],
    val sizes: Array[Int]) {
  def bytes: Long = 4L * (firstRun.length + 3L * positions.length)
}

private[sparkzorder] object ListedEntries {

  /** @param directories the files of each directory of a listing */
  def of(lookup: PathLookup, directories: IndexedSeq[Array[FileStatus]]): ListedEntries = {
    val firstRun = new Array[Int](directories.size + 1)
    val (positions, entries, sizes) =
      (Array.newBuilder[Int], Array.newBuilder[Int], Array.newBuilder[Int])
    val walk = lookup.walk()
    var runs = 0
    directories.indices.foreach { d =>
      firstRun(d) = runs
      val files = directories(d)
      var (start, first) = (0, 0)
      def end(until: Int): Unit = if (until > start) {
        positions += start
        entries += first
        sizes += until - start
        runs += 1
      }
      var i = 0
      while (i < files.length) {
        val entry = walk.find(files(i))
        val goesOn =
          i > start && (if (entry < 0) first < 0 else first >= 0 && entry == first + i - start)
        if (!goesOn) {
          end(i)
          start = i
          first = entry
        }
        i += 1
      }
      end(files.length)
    }
    firstRun(directories.size) = runs
    new ListedEntries(firstRun, positions.result(), entries.result(), sizes.result())
  }
}
