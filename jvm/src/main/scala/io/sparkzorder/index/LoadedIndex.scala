// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.sparkzorder.index.values.ValueDomain
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
   * The reader of the file whose header was loaded. Fails if another file has replaced that file.
   */
  private def reader: IndexReader = {
    if (opened.header.id != loadedHeader.id) {
      throw new java.io.IOException("another index has taken its place while it was read")
    }
    opened
  }

  private lazy val loadedHeader =
    IndexCache(IndexCache.headerKey(generation), cacheSize)(new LoadedHeader(opened.header))

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

  private def loaded(part: HeaderValuesPart): LoadedValues =
    IndexCache(CacheKey.of(generation, IndexCache.Values, part.name), cacheSize)(
      LoadedValues.read(
        new Path(generation.file.getPath.getParent, part.name),
        part,
        files,
        conf,
        cacheSize))

  /** Equal for two objects if and only if both have the same files at the same positions. */
  def identity: AnyRef = CacheKey.of(generation, IndexCache.Files)

  /**
   * Reads the column. It is not cached as read; the cache keeps what queries compute from it, see
   * [[derived]].
   */
  override def column(number: Int): ColumnValues = reader.column(number)

  override def derived[T <: Sized](number: Int, name: String)(make: => T): T =
    IndexCache(CacheKey.of(generation, number, name), cacheSize)(make)
}

private final class LoadedHeader(header: IndexHeader) extends Sized {
  val id: Option[String] = header.id
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
 * Names a part of an index: the header, the file entries, the values or one column. Each generation is a
 * file of its own. After a DROP, a new index may have files of the same names, and then `identity` differs.
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
 * them stay in the cache, and the others are loaded anew for each query.
 */
private[sparkzorder] object IndexCache {
  private val Header = -2
  private[index] val Files = -1
  private[index] val Values = -3

  private val parts = new WeightedCache[CacheKey, Sized](_.bytes, resists = true)

  /**
   * Returns a part of an index, and loads the part if the cache does not hold it.
   *
   * @param limit the limit of all parts together, in bytes; a part larger than the limit is not cached
   */
  private[index] def apply[T <: Sized](key: CacheKey, limit: Long)(load: => T): T =
    parts.getOrLoad(key, limit)(load).asInstanceOf[T]

  /** The size of all cached parts. */
  def bytes: Long = parts.weight

  /** Drops all parts. */
  def clear(): Unit = parts.clear()

  private[index] def headerKey(generation: Generation): CacheKey =
    CacheKey.of(generation, Header)
}
