package io.sparkzorder.index

import java.lang.ref.WeakReference
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Objects

import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.sql.catalyst.expressions.XXH64
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.array.ByteArrayMethods

/** Finds files of an index by their paths: an open hash table over the bytes of the relative paths. */
final class PathLookup(root: Path, val table: FileTable) extends Sized {
  private val (scheme, authority) = (root.toUri.getScheme, root.toUri.getAuthority)
  private val prefix = {
    val path = root.toUri.getPath
    (if (path.endsWith("/")) path else path + "/").getBytes(UTF_8)
  }
  private val slots = {
    val size = Integer.highestOneBit(math.max(4, table.size)) * 4
    val made = Array.fill(size)(-1)
    (0 until table.size).foreach { i =>
      val (from, to) = (table.paths.start(i), table.paths.ends(i))
      var at = hash(table.paths.data, from, to - from) & (size - 1)
      while (made(at) >= 0) at = (at + 1) & (size - 1)
      made(at) = i
    }
    made
  }

  // memory for the identities of files is counted from the start
  override def bytes: Long =
    table.bytes + 4L * slots.length + KnownFiles.BytesOfFile * table.size

  private lazy val known = new KnownFiles(this)

  /** Finds the files of a listing one after the other; for one thread. */
  def walk(): KnownFiles#Walk = known.walk()

  /**
   * @return the position of a file that was listed; -1 when the index does not know it or knows it with
   *   another length or time
   * @param guess where it may well be: listings have files in the order of the index, mostly
   */
  def indexOf(status: FileStatus, guess: Int = 0): Int = {
    val uri = status.getPath.toUri
    if (!Objects.equals(uri.getScheme, scheme) || !Objects.equals(uri.getAuthority, authority)) -1
    else {
      val path = uri.getPath.getBytes(UTF_8)
      val length = path.length - prefix.length
      if (length <= 0 || !same(path, 0, prefix, 0, prefix.length)) -1
      else {
        val guessed = guess < table.size && isPath(guess, path, prefix.length, length)
        val i = if (guessed) guess else find(path, prefix.length, length)
        if (i >= 0 && isFresh(i, status)) i else -1
      }
    }
  }

  private def isFresh(i: Int, status: FileStatus): Boolean =
    table.lengths(i) == status.getLen && table.modified(i) == status.getModificationTime &&
      // a store that has no times does not tell of changes
      status.getModificationTime != 0

  private def find(path: Array[Byte], from: Int, length: Int): Int = {
    val mask = slots.length - 1
    var at = hash(path, from, length) & mask
    var i = slots(at)
    while (i >= 0 && !isPath(i, path, from, length)) {
      at = (at + 1) & mask
      i = slots(at)
    }
    i
  }

  private def isPath(i: Int, path: Array[Byte], from: Int, length: Int): Boolean = {
    val start = table.paths.start(i)
    table.paths.ends(i) - start == length && same(path, from, table.paths.data, start, length)
  }

  private def same(a: Array[Byte], aFrom: Int, b: Array[Byte], bFrom: Int, length: Int): Boolean =
    ByteArrayMethods.arrayEquals(
      a,
      Platform.BYTE_ARRAY_OFFSET.toLong + aFrom,
      b,
      Platform.BYTE_ARRAY_OFFSET.toLong + bFrom,
      length.toLong)

  private def hash(bytes: Array[Byte], from: Int, length: Int): Int = {
    val h = XXH64.hashUnsafeBytes(bytes, Platform.BYTE_ARRAY_OFFSET.toLong + from, length, 42L)
    (h ^ (h >>> 32)).toInt
  }
}

/**
 * Which entries of an index the files of listings are. From a listing that it holds, Spark hands out the
 * same objects to every query, so a file that was found by its path once is known by its identity then,
 * and no byte of its path is looked at again. The objects belong to Spark: they are held weakly.
 *
 * Queries share this without locks. A reference is only ever put at the entry that its file was found to
 * be, so every reference is right, whichever thread wrote it. A lost one costs another look-up by path.
 */
final class KnownFiles private[index] (lookup: PathLookup) {
  private val size = lookup.table.size
  private val files = new Array[WeakReference[FileStatus]](size)
  // which entry came after another in a listing: position 0 is for the first, i + 1 for after entry i
  private val following = Array.range(0, size + 1)

  /** A walk through one listing, from file to file; for one thread. */
  final class Walk private[KnownFiles] () {
    private var last = -1

    /**
     * @return the file's position in the index; -1 when the index does not know it or knows it with
     *   another length or time
     */
    def find(file: FileStatus): Int = {
      val guess = following(last + 1)
      val known = if (guess < size) files(guess) else null
      if (known != null && (known.get eq file)) {
        last = guess
        guess
      } else {
        val found = lookup.indexOf(file, guess)
        if (found >= 0) {
          files(found) = new WeakReference(file)
          following(last + 1) = found
          last = found
        }
        found
      }
    }
  }

  def walk(): Walk = new Walk
}

private[index] object KnownFiles {

  /** Bytes of memory for each file: a reference, what it points to, and who follows. */
  val BytesOfFile = 40L
}
