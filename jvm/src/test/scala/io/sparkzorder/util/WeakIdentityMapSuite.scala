// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.util

import java.lang.ref.WeakReference

import org.scalatest.funsuite.AnyFunSuite

class WeakIdentityMapSuite extends AnyFunSuite {

  test("keys are told apart by identity, not by equality") {
    val map = new WeakIdentityMap[String, Int]
    val Seq(a, b) = Seq.fill(2)(new String("key"))
    map.put(a, 1)
    assert(map.get(a) === Some(1) && map.get(b) === None)
    map.put(b, 2)
    map.put(a, 3)
    assert(map.get(a) === Some(3) && map.get(b) === Some(2) && map.size === 2)
  }

  // a method of its own, since a local variable holds what it has held
  private def filled(map: WeakIdentityMap[AnyRef, Int]): WeakReference[AnyRef] = {
    val key = new Object
    map.put(key, 1)
    new WeakReference(key)
  }

  test("the value of a key that nobody holds goes") {
    val map = new WeakIdentityMap[AnyRef, Int]
    val key = filled(map)
    val other = new Object
    var tries = 0
    while ((key.get != null || map.size > 1) && tries < 100) {
      tries += 1
      System.gc()
      Thread.sleep(10)
      map.put(other, 2)
    }
    assert(key.get == null && map.size === 1 && map.get(other) === Some(2))
  }
}
