// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.util

import java.lang.ref.WeakReference
import java.util.{UUID, WeakHashMap}

/**
 * An immutable object that all tasks of a JVM share. Spark deserializes the objects of a stage once for each task.
 * Without this trait, the copies of a large object would fill the memory of an executor.
 */
private[sparkzorder] trait OncePerJvm extends Serializable {
  private val identity: UUID = UUID.randomUUID()

  /** Called by Java's serialization. */
  protected def readResolve(): AnyRef = OncePerJvm.first(identity, this)
}

private object OncePerJvm {
  // each object holds its own key, so an entry lasts as long as its object
  private val known = new WeakHashMap[UUID, WeakReference[AnyRef]]

  private def first(identity: UUID, copy: AnyRef): AnyRef = known.synchronized {
    Option(known.get(identity)).flatMap(found => Option(found.get)).getOrElse {
      // An equal key may still be there, of a copy that is gone. `put` would keep that key, and lose the entry with it.
      known.remove(identity)
      known.put(identity, new WeakReference(copy))
      copy
    }
  }
}
