package io.sparkzorder.util

import java.util.LinkedHashMap

/**
 * Values in memory up to a total weight; the least recently used go first. Values do not expire, so
 * a key must change whenever its value changes.
 *
 * Safe for threads. A value is loaded once, outside the lock: other threads that ask for it wait,
 * and those that ask for other values do not. The caches of Guava and Caffeine fix their limit when
 * they are made; here each caller has its own, a setting of its session.
 *
 * @param weigh the weight of a value, positive
 */
private[sparkzorder] final class WeightedCache[K <: AnyRef, V](weigh: V => Long) {

  private final class Slot(load: () => V) {
    lazy val value: V = load()
    // unknown while the value is being loaded
    var weight: Long = -1L
  }

  private val slots = new LinkedHashMap[K, Slot](16, 0.75f, true)
  private var total = 0L

  /** The value of a key, if it is there. */
  def get(key: K): Option[V] = find(key).map(_.value)

  /**
   * The value of a key, which is loaded if it is not there.
   *
   * @param limit weight that all values together may have; a single heavier value is not kept
   */
  def getOrLoad(key: K, limit: Long)(load: => V): V = {
    val slot = slots.synchronized {
      find(key).getOrElse {
        val made = new Slot(() => load)
        slots.put(key, made)
        made
      }
    }
    try {
      val value = slot.value
      account(key, slot, value, limit)
      value
    } catch {
      case e: Throwable =>
        slots.synchronized(slots.remove(key, slot))
        throw e
    }
  }

  /** Replaces the value of a key. */
  def put(key: K, value: V, limit: Long): Unit = {
    val slot = new Slot(() => value)
    slots.synchronized {
      val old = slots.put(key, slot)
      if (old != null && old.weight >= 0) total -= old.weight
    }
    account(key, slot, slot.value, limit)
  }

  private def find(key: K): Option[Slot] = slots.synchronized(Option(slots.get(key)))

  /** Counts a value that was loaded, and evicts the least recently used ones. */
  private def account(key: K, slot: Slot, value: V, limit: Long): Unit = slots.synchronized {
    if (slot.weight < 0 && (slots.get(key) eq slot)) {
      slot.weight = weigh(value)
      total += slot.weight
      val eldest = slots.values.iterator()
      while (total > limit && eldest.hasNext) {
        val candidate = eldest.next()
        if (candidate.weight >= 0) {
          eldest.remove()
          total -= candidate.weight
        }
      }
    }
  }

  /** The weight of all values. */
  def weight: Long = slots.synchronized(total)

  def clear(): Unit = slots.synchronized {
    slots.clear()
    total = 0L
  }
}
