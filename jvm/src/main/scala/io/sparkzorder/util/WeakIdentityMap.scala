// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.util

import java.lang.ref.{ReferenceQueue, WeakReference}
import java.util.concurrent.ConcurrentHashMap

/**
 * Maps keys to values. Keys are compared by identity and held weakly. Each `put` removes the entries of keys that
 * were collected. A value must not refer to its own key: the key would never be collected. Thread-safe.
 */
private[sparkzorder] final class WeakIdentityMap[K <: AnyRef, V] {
  private val dead = new ReferenceQueue[K]
  private val values = new ConcurrentHashMap[Key, V]

  private final class Key(key: K, queue: ReferenceQueue[K]) extends WeakReference[K](key, queue) {
    private val hash = System.identityHashCode(key)
    override def hashCode(): Int = hash
    override def equals(other: Any): Boolean = other match {
      case that: AnyRef if that eq this => true
      case that: WeakIdentityMap[_, _]#Key =>
        val mine = this.get
        mine != null && (mine eq that.get.asInstanceOf[AnyRef])
      case _ => false
    }
  }

  def get(key: K): Option[V] = Option(values.get(new Key(key, null)))

  def getOrElseUpdate(key: K)(make: => V): V = synchronized {
    get(key).getOrElse {
      val made = make
      put(key, made)
      made
    }
  }

  def put(key: K, value: V): Unit = {
    removeDead()
    values.put(new Key(key, dead), value)
  }

  /** The number of values, including the values of collected keys that no `put` has removed yet. */
  def size: Int = values.size

  private def removeDead(): Unit = {
    var key = dead.poll()
    while (key != null) {
      values.remove(key)
      key = dead.poll()
    }
  }
}
