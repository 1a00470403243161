package io.sparkzorder.index

import java.util.{LinkedHashMap => JLinkedHashMap}

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

/** Parts of indexes that were loaded, shared by all sessions; what was not used for longest goes first. */
object IndexCache {
  private val Header = -2
  private[index] val Files = -1

  private final class Slot(load: () => Sized) {
    lazy val value: Sized = load()
  }

  private val slots = new JLinkedHashMap[CacheKey, Slot](16, 0.75f, true)
  private var used = 0L

  /**
   * A part of an index, loaded when it is not there; loading it twice at once is waited for.
   *
   * @param limit bytes that all parts together may take; a single larger part is not kept
   */
  private[index] def apply[T <: Sized](key: CacheKey, limit: Long)(load: => T): T = {
    val slot = slots.synchronized {
      val found = slots.get(key)
      if (found != null) found
      else {
        val made = new Slot(() => {
          val loaded = load
          account(key, loaded.bytes, limit)
          loaded
        })
        slots.put(key, made)
        made
      }
    }
    try slot.value.asInstanceOf[T]
    catch {
      case e: Throwable =>
        slots.synchronized(slots.remove(key, slot))
        throw e
    }
  }

  /** Adds what was loaded and lets go of what was not used for longest. */
  private def account(key: CacheKey, bytes: Long, limit: Long): Unit = slots.synchronized {
    if (slots.containsKey(key)) {
      used += bytes
      sizes.put(key, bytes)
    }
    val oldest = slots.keySet.iterator()
    while (used > limit && oldest.hasNext) {
      val candidate = oldest.next()
      // what is being loaded has no size yet
      if (sizes.containsKey(candidate)) {
        oldest.remove()
        used -= sizes.remove(candidate)
      }
    }
  }

  private val sizes = new java.util.HashMap[CacheKey, Long]()

  /** Bytes in use. */
  def bytes: Long = slots.synchronized(used)

  /** Forgets everything. */
  def clear(): Unit = slots.synchronized {
    slots.clear()
    sizes.clear()
    used = 0L
  }

  private[index] def headerKey(generation: Generation): CacheKey =
    CacheKey.of(generation, Header)
}
