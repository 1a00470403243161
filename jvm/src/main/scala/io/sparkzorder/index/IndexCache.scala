package io.sparkzorder.index

import io.sparkzorder.util.WeightedCache

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
