// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.util

import java.util.LinkedHashMap

import scala.collection.JavaConverters._

/**
 * Values in memory up to a total weight. Values do not expire, so a value that changes needs a new key.
 *
 * The least recently used values are removed first. A value that is loaded replaces only values that were not used
 * since the key of the new value was last used. So if queries use more values in turn than fit, some values stay, and
 * the others are loaded each time. Without this rule, each value would replace the value that is needed next. A
 * value that is [[put]] may replace any other. If a value would not fit even without all values that it may replace, it
 * replaces none.
 *
 * Thread-safe. A value is loaded once, outside the lock, so only threads that need the same value wait. Guava's
 * and Caffeine's caches have one fixed limit. Here each call passes its own limit, a setting of its session.
 *
 * @param weigh the weight of a value, positive
 */
private[sparkzorder] final class WeightedCache[K <: AnyRef, V](weigh: V => Long) {

  /** @param previous the time of the previous use of the key, as a count of all uses of the cache */
  private final class Slot(load: () => V, val previous: Long) {
    lazy val value: V = load()
    var used: Long = uses
    // unknown while the value is being loaded
    var weight: Long = -1L
  }

  private val slots = new LinkedHashMap[K, Slot](16, 0.75f, true)
  private var total = 0L
  private var uses = 0L

  // the last use of each key, also of keys whose values are not kept
  private val lastUses = new LinkedHashMap[K, Long](16, 0.75f, true)

  /**
   * The value of a key, if it is there. Waits while another thread loads the value, and throws the error of that load.
   * The key becomes the last to be removed. But the time of its last use stays, by which a loaded value may replace it.
   */
  def get(key: K): Option[V] = find(key).map(_.value)

  /**
   * The value of a key, which is loaded if it is not there.
   *
   * @param limit the weight that all values together may have. A value that alone is heavier is not kept
   */
  def getOrLoad(key: K, limit: Long)(load: => V): V = {
    val slot = slots.synchronized {
      val previous = countUse(key)
      val there = find(key).getOrElse {
        val made = new Slot(() => load, previous)
        slots.put(key, made)
        made
      }
      there.used = uses
      there
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
    val slot = new Slot(() => value, Long.MaxValue)
    slots.synchronized {
      val old = slots.put(key, slot)
      if (old != null && old.weight >= 0) total -= old.weight
    }
    account(key, slot, slot.value, limit)
  }

  private def find(key: K): Option[Slot] = slots.synchronized(Option(slots.get(key)))

  /** @return the time of the previous use of the key; -1 if it was not used before, or too long ago */
  private def countUse(key: K): Long = {
    uses += 1
    val before = Option(lastUses.put(key, uses))
    if (lastUses.size > WeightedCache.RememberedUses) {
      val eldest = lastUses.keySet.iterator()
      eldest.next()
      eldest.remove()
    }
    before.getOrElse(-1L)
  }

  /** Counts the weight of a value that was loaded. Makes room for the value, or does not keep it. */
  private def account(key: K, slot: Slot, value: V, limit: Long): Unit = slots.synchronized {
    if (slot.weight < 0 && (slots.get(key) eq slot)) {
      slot.weight = weigh(value)
      total += slot.weight
      if (total > limit) {
        val others = slots.entrySet.asScala.toSeq.map(e => e.getKey -> e.getValue)
          .filter { case (_, s) => (s ne slot) && s.weight >= 0 && s.used < slot.previous }
        val fits = slot.weight <= limit &&
          total - others.map(_._2.weight).sum <= limit
        val victims = if (fits) others.iterator else Iterator.empty
        while (total > limit && victims.hasNext) remove(victims.next())
        if (total > limit) remove(key -> slot)
      }
    }
  }

  private def remove(entry: (K, Slot)): Unit =
    if (slots.remove(entry._1, entry._2)) total -= math.max(0L, entry._2.weight)

  /** Removes the value of a key, if it is there. */
  def forget(key: K): Unit = slots.synchronized {
    Option(slots.get(key)).foreach(slot => remove(key -> slot))
  }

  /** The weight of all values. */
  def weight: Long = slots.synchronized(total)

  def clear(): Unit = slots.synchronized {
    slots.clear()
    lastUses.clear()
    total = 0L
  }
}

private object WeightedCache {
  private val RememberedUses = 10000
}
