// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.util

import java.util.concurrent.{Callable, CountDownLatch, Executors}
import java.util.concurrent.atomic.AtomicInteger

import org.scalatest.funsuite.AnyFunSuite

class WeightedCacheSuite extends AnyFunSuite {

  private def cache = new WeightedCache[String, String](_.length.toLong)

  test("a value is loaded once and then found") {
    val c = cache
    assert(c.get("a") === None)
    assert(c.getOrLoad("a", 10)("12345") === "12345")
    assert(c.getOrLoad("a", 10)(fail("loaded again")) === "12345")
    assert(c.get("a") === Some("12345") && c.weight === 5)
  }

  test("the least recently used values go first") {
    val c = cache
    Seq("a", "b", "c").foreach(k => c.put(k, "123", 9))
    c.getOrLoad("a", 9)(fail("loaded again"))
    c.put("d", "123", 9)
    assert(c.get("b") === None)
    assert(Seq("a", "c", "d").forall(c.get(_).nonEmpty) && c.weight === 9)
    c.put("e", "123456", 9)
    assert(c.weight === 9 && c.get("e") === Some("123456") && c.get("d") === Some("123"))
  }

  test("a value over the limit is returned and not kept; each call has its own limit") {
    val c = cache
    assert(c.getOrLoad("a", 3)("12345") === "12345")
    assert(c.get("a") === None && c.weight === 0)
    c.getOrLoad("b", 100)("12345")
    c.put("c", "1", 3)
    assert(c.get("b") === None && c.get("c") === Some("1"))
    // neither makes room for a value that does not fit
    c.put("d", "12345", 3)
    assert(c.getOrLoad("e", 3)("12345") === "12345")
    assert(c.get("c") === Some("1") && c.weight === 1)
  }

  test("of values that are used in turn and do not fit, some stay") {
    val c = cache
    var loads = 0
    def use(key: String): Unit = {
      val _ = c.getOrLoad(key, 9) {
        loads += 1
        "123"
      }
    }
    for (_ <- 1 to 10; k <- Seq("a", "b", "c", "d")) use(k)
    // three of four are loaded once, the fourth each time
    assert(loads === 13 && c.weight === 9)
    // values that nobody uses any more make room for one that is used twice
    Seq("e", "e").foreach(use)
    assert(loads === 15 && c.get("e").nonEmpty && c.weight === 9)
    use("e")
    assert(loads === 15)
    assert(c.getOrLoad("f", 9)("1234567890") === "1234567890")
    assert(c.getOrLoad("f", 9)("1234567890") === "1234567890" && c.get("f") === None)
    assert(c.get("e").nonEmpty)
  }

  test("put replaces a value; clear forgets all") {
    val c = cache
    c.put("a", "123", 10)
    c.put("a", "12345", 10)
    assert(c.get("a") === Some("12345") && c.weight === 5)
    c.put("b", "123456", 10)
    assert(c.get("a") === None && c.weight === 6)
    c.clear()
    assert(c.get("b") === None && c.weight === 0)
  }

  test("a load that fails leaves nothing behind") {
    val c = cache
    intercept[IllegalStateException](c.getOrLoad("a", 10)(throw new IllegalStateException))
    assert(c.get("a") === None && c.weight === 0)
    assert(c.getOrLoad("a", 10)("1") === "1" && c.weight === 1)
  }

  test("clear during a load: the value is returned and not counted") {
    val c = cache
    assert(c.getOrLoad("a", 10) {
      c.clear()
      "1"
    } === "1")
    assert(c.get("a") === None && c.weight === 0)
  }

  test("threads that ask for one key wait for one load") {
    val c = cache
    val loads = new AtomicInteger
    val begun = new CountDownLatch(1)
    val pool = Executors.newFixedThreadPool(4)
    try {
      val asked = (0 until 4).map { _ =>
        pool.submit(new Callable[String] {
          override def call(): String = c.getOrLoad("a", 10) {
            begun.countDown()
            Thread.sleep(50)
            s"load ${loads.incrementAndGet()}"
          }
        })
      }
      begun.await()
      // another key does not wait
      assert(c.getOrLoad("b", 10)("1") === "1")
      assert(asked.map(_.get()).distinct === Seq("load 1"))
      assert(c.weight === 7)
    } finally pool.shutdownNow()
  }
}
