// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log.publish

import java.io.File

/** Others overwrite, drop and remove between any two steps of publishing a run. */
class RunPublisherOverwriteSuite extends RunPublisherTestBase {

  /** Runs `change` before the `k`-th change of publishing, for every k, and then recovers. */
  private def atEveryStep(change: File => Unit)(check: (File, Int) => Unit): Unit = {
    var (k, more) = (0, true)
    while (more) withScheme("faulty") { (dir, state) =>
      val record = committed(dir, state)
      more = withChangeBefore(k)(change(dir))(publisher(state, record).publish())
      if (more) {
        recover(dir, record)
        check(dir, k)
      }
      k += 1
    }
    assert(k > 15)
  }

  private def remove(f: File): Unit = {
    Option(f.listFiles).toSeq.flatten.foreach(remove)
    f.delete()
  }

  test("a folder is overwritten at any step: it holds what was written, no more") {
    atEveryStep { dir =>
      remove(new File(dir, "p=1"))
      put(dir, "p=1/theirs", "x")
    } { (dir, k) =>
      assert(new File(dir, "p=1").list().toSet === Set("theirs"), s"step $k")
      assert(visible(dir) === fresh)
    }
  }

  test("a folder is overwritten by one who spares hidden names, at any step: no row comes back") {
    atEveryStep { dir =>
      val p = new File(dir, "p=1")
      p.listFiles.filter(f => !f.getName.startsWith("_")).foreach(f => assert(f.delete()))
      put(dir, "p=1/theirs", "x")
    } { (dir, k) =>
      if (!stateOf(dir).isDone(1)) {
        // only a person can say whether the folder was overwritten or an empty file was removed
        remove(new File(dir, s"p=1/$own"))
        recover(dir, stateOf(dir).read(1))
      }
      assert(visible(dir, "p=1") === Set("theirs"), s"step $k")
      assert(visible(dir) === fresh)
    }
  }

  test("a folder is dropped at any step: it is not made again") {
    atEveryStep(dir => remove(new File(dir, "p=1"))) { (dir, k) =>
      assert(!new File(dir, "p=1").exists(), s"step $k")
      assert(visible(dir) === fresh)
    }
  }

  for ((what, change) <- Seq[(String, File => Unit)](
      "removed" -> (f => { f.delete(); () }),
      "overwritten" -> (f => if (f.exists) { put(f.getParentFile, f.getName, "theirs"); () }))) {
    test(s"one of many files is $what at any step: no row of the others is hidden") {
      atEveryStep(dir => change(new File(dir, "p=1/d"))) { (dir, k) =>
        val seen = visible(dir, "p=1")
        val left = if (what == "removed") old - "d" else old
        assert(seen === fresh || seen === left, s"step $k")
        assert(visible(dir) === fresh)
      }
    }
  }
}
