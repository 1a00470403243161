package io.sparkzorder.index

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Objects

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.sql.catalyst.expressions.XXH64
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.array.ByteArrayMethods

/**
 * One generation of an index as queries use it: parts are loaded when they are asked for first.
 *
 * @param root the table's directory, qualified
 * @param cacheSize bytes that the cache of all indexes may take
 */
final class LoadedIndex(
    root: Path,
    generation: Generation,
    conf: Configuration,
    cacheSize: Long)
    extends IndexColumns {
  private lazy val opened = new IndexReader(generation.file, conf)

  /** Reads the file whose header was loaded, and no other one that took its place. */
  private def reader: IndexReader = {
    if (opened.header.id != loadedHeader.id) {
      throw new java.io.IOException("another index has taken its place while it was read")
    }
    opened
  }

  private lazy val loadedHeader =
    IndexCache(IndexCache.headerKey(generation), cacheSize)(new LoadedHeader(opened.header))

  /** @throws java.io.IOException when the generation cannot be used */
  override def indexed: IndexedSeq[IndexedColumn] = loadedHeader.indexed

  override def shapes: IndexedSeq[FileShape] = loadedHeader.shapes

  /** The data files, to be found by their paths. */
  lazy val files: PathLookup =
    IndexCache(CacheKey.of(generation, IndexCache.Files), cacheSize)(new PathLookup(root, reader.files()))

  override def table: FileTable = files.table

  override def column(number: Int): ColumnValues =
    IndexCache(CacheKey.of(generation, number), cacheSize)(new LoadedColumn(reader.column(number))).values

  override def derived[T <: Sized](number: Int, name: String)(make: => T): T =
    IndexCache(CacheKey.of(generation, number, name), cacheSize)(make)
}

private final class LoadedHeader(header: IndexHeader) extends Sized {
  val id: Option[String] = header.id
  val indexed: IndexedSeq[IndexedColumn] = header.indexed
  val shapes: IndexedSeq[FileShape] = header.shapes.map(FileShape(_)).toIndexedSeq
  override def bytes: Long =
    1000L + 200L * header.columns.size + 100L * header.shapes.map(_.size.toLong).sum
}

private final class LoadedColumn(val values: ColumnValues) extends Sized {
  override def bytes: Long = values.bytes
}

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

  // what is yet to be known counts from the start
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
