package io.sparkzorder.index

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.sparkzorder.util.WeightedCache

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

  override def shapes: IndexedSeq[LeafColumns] = loadedHeader.shapes

  /** The data files, to be found by their paths. */
  lazy val files: PathLookup =
    IndexCache(
      CacheKey.of(generation, IndexCache.Files),
      cacheSize)(new PathLookup(root, reader.files()))

  override def table: FileTable = files.table

  override def column(number: Int): ColumnValues =
    IndexCache(
      CacheKey.of(generation, number),
      cacheSize)(new LoadedColumn(reader.column(number))).values

  override def derived[T <: Sized](number: Int, name: String)(make: => T): T =
    IndexCache(CacheKey.of(generation, number, name), cacheSize)(make)
}

private final class LoadedHeader(header: IndexHeader) extends Sized {
  val id: Option[String] = header.id
  val indexed: IndexedSeq[IndexedColumn] = header.indexed
  val shapes: IndexedSeq[LeafColumns] = header.shapes.map(LeafColumns(_)).toIndexedSeq
  override def bytes: Long =
    1000L + 200L * header.columns.size + 100L * header.shapes.map(_.size.toLong).sum
}

private final class LoadedColumn(val values: ColumnValues) extends Sized {
  override def bytes: Long = values.bytes
}

/** What the cache of indexes holds, with its size. */
private[sparkzorder] trait Sized {

  /** Bytes of memory, about. */
  def bytes: Long
}

/**
 * Names a part of an index: the paths, or one column. Each generation is another file; the identity tells
 * an index from the one before a DROP, whose files had the same names.
 *
 * @param part -1 for the paths, else the number of a column
 * @param derived what was made of the part; empty for the part as it was read
 */
private[index] final case class CacheKey(
    path: String,
    identity: String,
    length: Long,
    modified: Long,
    part: Int,
    derived: String)

private[index] object CacheKey {
  def of(generation: Generation, part: Int, derived: String = ""): CacheKey = {
    val file = generation.file
    CacheKey(
      file.getPath.toString,
      generation.identity,
      file.getLen,
      file.getModificationTime,
      part,
      derived)
  }
}

/** Loaded parts of indexes, shared by all sessions; the least recently used part is dropped first. */
object IndexCache {
  private val Header = -2
  private[index] val Files = -1

  private val parts = new WeightedCache[CacheKey, Sized](_.bytes)

  /**
   * A part of an index, which is loaded if it is not there.
   *
   * @param limit bytes that all parts together may take; a single larger part is not kept
   */
  private[index] def apply[T <: Sized](key: CacheKey, limit: Long)(load: => T): T =
    parts.getOrLoad(key, limit)(load).asInstanceOf[T]

  /** Bytes in use. */
  def bytes: Long = parts.weight

  /** Forgets everything. */
  def clear(): Unit = parts.clear()

  private[index] def headerKey(generation: Generation): CacheKey =
    CacheKey.of(generation, Header)
}
