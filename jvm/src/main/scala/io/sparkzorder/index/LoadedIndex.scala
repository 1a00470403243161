// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index

import java.io.IOException

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.sparkzorder.index.values.{
  CoveredFiles,
  PostingsReader,
  ShardDirectory,
  ValueDomain,
  ValuesPart
}
import io.sparkzorder.util.WeightedCache

/**
 * One generation of an index, as queries use it. Each part is loaded when it is first needed.
 *
 * @param root the directory of the table, as a qualified path
 * @param cacheSize the limit of the cache of all indexes, in bytes
 */
private[sparkzorder] final class LoadedIndex(
    root: Path,
    generation: Generation,
    conf: Configuration,
    cacheSize: Long)
    extends IndexColumns {
  private lazy val opened = new IndexReader(generation.file, conf)

  /**
   * The reader of the file whose header was loaded, perhaps from the cache. Fails if another file has replaced that
   * file.
   */
  private def reader: IndexReader = {
    if (opened.header.id != loadedHeader.id) {
      throw new IOException("another index has replaced the file of the index while it was read")
    }
    opened
  }

  private lazy val loadedHeader =
    IndexCache(CacheKey.of(generation, IndexCache.Header), cacheSize)(
      new LoadedHeader(opened.header))

  /** @throws java.io.IOException if the generation cannot be used */
  override def indexed: IndexedSeq[IndexedColumn] = loadedHeader.indexed

  override def shapes: IndexedSeq[LeafColumns] = loadedHeader.shapes

  /** The file entries, with a search by path. */
  lazy val files: PathLookup =
    IndexCache(
      CacheKey.of(generation, IndexCache.Files),
      cacheSize)(new PathLookup(root, reader.slots()))

  override def table: FileTable = files.table

  override def values(column: String, domain: ValueDomain): Option[IndexedValues] =
    valuesIn(column, domain.text)

  /** @param domain the text of a [[ValueDomain]] */
  private[index] def valuesIn(column: String, domain: String): Option[IndexedValues] = {
    val parts = loadedHeader.values.filter(p => p.isOf(column) && p.domain == domain)
    if (parts.isEmpty) None else Some(new IndexedValues(parts, table, loaded))
  }

  private def loaded(part: HeaderValuesPart): OpenValues = {
    val directory = new Path(generation.file.getPath.getParent, part.name)
    val values = IndexCache(CacheKey.of(generation, IndexCache.Values, part.name), cacheSize)(
      LoadedValues.read(directory, part, files, conf))
    new OpenValues(values, directory, part.name, conf, cacheSize)
  }

  /** If the ids of two objects are equal, both have the same files at the same positions. */
  def entriesId: AnyRef = CacheKey.of(generation, IndexCache.Files)

  /**
   * Reads a column. The cache does not keep the column itself, but what queries compute from the column, see
   * [[derived]].
   */
  override def column(number: Int): ColumnValues = reader.column(number)

  override def derived[T <: Sized](number: Int, name: String)(make: => T): T =
    IndexCache(CacheKey.of(generation, number, name), cacheSize)(make)
}

private final class LoadedHeader(header: IndexHeader) extends Sized {
  val id: String = header.id
  val indexed: IndexedSeq[IndexedColumn] = header.indexed
  val shapes: IndexedSeq[LeafColumns] = header.shapes.map(LeafColumns(_)).toIndexedSeq
  val values: Seq[HeaderValuesPart] = header.values.map(_.parts).getOrElse(Nil)
  override def bytes: Long =
    1000L + 200L * header.columns.size + 300L * values.size + 100L * header.shapes.map(
      _.size.toLong).sum
}

/** A part of an index that the cache holds, with its size. */
private[sparkzorder] trait Sized {

  /** The approximate number of bytes in memory. */
  def bytes: Long
}

/**
 * The key of a part of an index in the cache. The parts are the header, the file entries, the values and each column.
 * Each generation is a file of its own. After a DROP, a new index may have files of the same names, and then
 * `identity` differs.
 *
 * @param part -3 for values, -2 for the header, -1 for the file entries, else the number of a column
 * @param derived names what was computed from the part; empty for the part as it was read
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

/**
 * A cache of loaded parts of indexes, shared by all sessions. If the parts in use do not all fit, some of
 * them stay in the cache, and each query loads the others anew.
 */
private[sparkzorder] object IndexCache {
  private[index] val Header = -2
  private[index] val Files = -1
  private[index] val Values = -3

  private val parts = new WeightedCache[CacheKey, Sized](_.bytes)

  /**
   * Returns a part of an index, and loads the part if the cache does not hold it.
   *
   * @param limit the limit of all parts together, in bytes; a part larger than the limit is not cached
   */
  private[index] def apply[T <: Sized](key: CacheKey, limit: Long)(load: => T): T =
    parts.getOrLoad(key, limit)(load).asInstanceOf[T]

  def bytes: Long = parts.weight
  def clear(): Unit = parts.clear()
}

/**
 * The files that may have some values, as bitmaps of one bit for each entry of the index.
 *
 * @param mayHave the files that may have one of the values; every file that is not covered is among them
 * @param covered the files all of whose values are known
 */
private[sparkzorder] final case class FilesOfValues(mayHave: Array[Long], covered: Array[Long])

/**
 * The index of one column's values. Nothing is read before the first look-up.
 *
 * @param table the entries of the index
 * @param load reads what is needed of a part, or takes it from the cache
 */
private[sparkzorder] final class IndexedValues private[index] (
    val parts: Seq[HeaderValuesPart],
    table: => FileTable,
    load: HeaderValuesPart => OpenValues) {

  /** The estimated mean number of files that hold a value. */
  def filesOfValue: Double = parts.map(p => p.pairs.toDouble / math.max(1L, p.distinct)).sum

  /** The number of files in all parts, including files that have changed since. */
  def files: Long = parts.map(_.files.toLong).sum

  /** The files all of whose values are known. */
  def covered: Array[Long] = {
    val words = new Array[Long]((table.size + 63) / 64)
    parts.foreach(load(_).entries.foreach(i => if (i >= 0) words(i >> 6) |= 1L << i))
    words
  }

  /**
   * Finds the files that may have one of some values.
   *
   * @param hashes the hashes of the values for a given seed; each part has a seed of its own
   * @throws java.io.IOException also if a part is damaged
   */
  def lookUp(hashes: Long => Array[Long]): FilesOfValues = {
    val covered = this.covered
    val mayHave = covered.map(~_)
    parts.foreach(load(_).lookUp(hashes, mayHave))
    FilesOfValues(mayHave, covered)
  }
}

/**
 * A part of an index of values, with the positions of its files in the index.
 *
 * @param entries the position in the index of each file of the part; -1 for a file that is not covered, or
 *   that has no entry of this length and modification time in the index
 * @param directory gives the directory of a shard, from the cache or by reading it
 */
private[index] final class LoadedValues(val part: ValuesPart, val entries: Array[Int])
    extends Sized {
  override def bytes: Long = 4L * entries.length + 100L * part.shards.size
}

/**
 * A part as one session reads it. The cache keeps the values alone: the configuration may have the keys of a store, and
 * the limit of the cache is a setting, so both are those of the session that asks.
 *
 * @param directory the directory of the part
 */
private[index] final class OpenValues(
    values: LoadedValues,
    directory: Path,
    name: String,
    conf: Configuration,
    cacheSize: Long) {
  import values.part
  private val reader = new PostingsReader(directory, part, conf)

  def entries: Array[Int] = values.entries

  def lookUp(hashes: Long => Array[Long], into: Array[Long]): Unit =
    reader.lookUp(hashes(part.seed), directoryOf) { file =>
      if (file == part.format.allFiles) entries.foreach(set(into, _))
      else set(into, entries(file))
    }

  private def set(words: Array[Long], i: Int): Unit = if (i >= 0) words(i >> 6) |= 1L << i

  private def directoryOf(shard: Int): ShardDirectory = {
    val file = part.shards(shard)
    val key = CacheKey(s"$directory/${file.name}", name, file.length, 0L, IndexCache.Values, "")
    IndexCache(key, cacheSize)(new CachedDirectory(reader.directoryOf(shard))).directory
  }
}

private final class CachedDirectory(val directory: ShardDirectory) extends Sized {
  override def bytes: Long = 100L + directory.size
}

private[index] object LoadedValues {

  /**
   * @throws java.io.IOException if the head cannot be read, is damaged, or is the head of another part than `named`
   */
  def head(directory: Path, named: HeaderValuesPart, conf: Configuration): ValuesPart = {
    val head = PostingsReader.read(
      new Path(directory, ValuesPart.Head),
      named.headBytes.toLong,
      0L,
      named.headBytes,
      conf)
    val part = ValuesPart.parse(head, named.name)
    if (part.files.count != named.files || part.domain != named.domain ||
      !named.isOf(part.column)) {
      throw new IOException(s"$directory is not the part that the index names")
    }
    part
  }

  /** @param files finds the entries of the index */
  def read(
      directory: Path,
      named: HeaderValuesPart,
      files: PathLookup,
      conf: Configuration): LoadedValues = {
    val part = head(directory, named, conf)
    val known = part.files
    val entries = Array.tabulate(known.size) { i =>
      if (known.covered(i)) files.entryOf(known.paths(i), known.lengths(i), known.modified(i))
      else -1
    }
    new LoadedValues(part.copy(files = CoveredFiles.none), entries)
  }
}
