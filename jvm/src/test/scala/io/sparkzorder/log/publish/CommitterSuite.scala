// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log.publish

import java.io.File

import io.sparkzorder.log.{Intents, Record, StateTestBase, TableLog}

class CommitterSuite extends StateTestBase {
  private def one(name: String) = Map("" -> ((Seq(name), Seq(s"new-$name"))))

  test("numbers ascend; runs over other files do not disturb each other") {
    withTable { (dir, state) =>
      val runs = Seq("a", "b", "c").map(n => stage(dir, state, s"run-$n", one(n)))
      val numbers = runs.map(r => new Committer(state, "t").commit(r, () => ()))
      assert(numbers === Seq(1L, 2L, 3L))
      assert(numbers.map(state.read) === runs)
    }
  }

  test("the loser of a number checks again and takes the next") {
    withTable { (dir, state) =>
      val ours = stage(dir, state, "ours", one("a"))
      val theirs = stage(dir, state, "theirs", one("b"))
      var checks = 0
      val number = new Committer(state, "t").commit(
        ours,
        () => {
          checks += 1
          // between the look at the records and the creation of ours
          if (checks == 1) assert(state.createRecord(1, theirs))
        })
      assert(number === 2 && checks === 2)
      assert(state.read(1).run === id("theirs") && state.read(2).run === id("ours"))
    }
  }

  test("the loser whose files were replaced gets the conflict, and nothing is published") {
    withTable { (dir, state) =>
      val ours = stage(dir, state, "ours", Map("p=1" -> ((Seq("a", "b"), Seq("new")))))
      val theirs = stage(dir, state, "theirs", Map("p=1" -> ((Seq("b"), Seq("newer")))))
      var first = true
      fails("ZORDER_CONFLICT", s"run ${id("theirs")}", "p=1/b") {
        new Committer(state, "t").commit(
          ours,
          () =>
            if (first) {
              first = false
              assert(state.createRecord(1, theirs))
            })
      }
      assert(numbers(state) === Seq(1L))
      assert(visible(dir, "p=1") === Set("a", "b"))
    }
  }

  test("files that another run was adding while they were listed are no inputs") {
    withTable { (dir, state) =>
      val theirs = stage(dir, state, "theirs", Map("p=1" -> ((Seq("a"), Seq("n1", "n2")))))
      assert(new Committer(state, "t").commit(theirs, () => ()) === 1)
      val ours = stage(dir, state, "ours", Map("p=1" -> ((Seq("n1"), Seq("m")))))
      fails("ZORDER_CONFLICT", s"run ${id("theirs")}", "p=1/n1")(
        new Committer(state, "t").commit(ours, () => ()))
      // listed after they were published
      assert(new Committer(state, "t").commit(ours, () => (), after = 1L) === 2)
    }
  }

  test("a file of the same name in another folder is another file") {
    withTable { (dir, state) =>
      val theirs = stage(dir, state, "theirs", Map("p=1" -> ((Seq("a"), Seq("x")))))
      val ours = stage(dir, state, "ours", Map("p=2" -> ((Seq("a"), Seq("x")))))
      assert(new Committer(state, "t").commit(theirs, () => ()) === 1)
      assert(new Committer(state, "t").commit(ours, () => ()) === 2)
    }
  }

  test("a run whose record was created although the file system said no is committed") {
    withTable { (dir, state) =>
      val ours = stage(dir, state, "ours", one("a"))
      val committer = new Committer(state, "t")
      var first = true
      val number = committer.commit(
        ours,
        () =>
          if (first) {
            first = false
            assert(state.createRecord(1, ours))
          })
      assert(number === 1 && numbers(state) === Seq(1L))
      val more = stage(dir, state, "more", one("b"))
      assert(committer.commit(more, () => ()) === 2)
    }
  }

  test("a run that was aborted cannot commit") {
    withTable { (dir, state) =>
      val ours = stage(dir, state, "ours", one("a"))
      assert(state.createRecord(1, ours.copy(kind = Record.Abort, changes = Nil)))
      fails("ZORDER_CONFLICT", "declared dead")(
        new Committer(state, "t").commit(ours, () => ()))
      val others = stage(dir, state, "others", one("b"))
      assert(new Committer(state, "t").commit(others, () => ()) === 2)
    }
  }

  test("changed inputs, removed staging and a vanished state directory are conflicts") {
    withTable { (dir, state) =>
      val ours = stage(dir, state, "ours", one("a"))
      intercept[IllegalStateException](
        new Committer(state, "t").commit(ours, () => throw new IllegalStateException("changed")))
      assert(numbers(state) === Nil)
      fails("ZORDER_CONFLICT", "hidden")(
        new Committer(state, "t").commit(
          ours,
          () => state.fs.delete(state.own("", id("ours")), true)))
      fails("ZORDER_CONFLICT")(
        new Committer(state, "t").commit(ours, () => state.fs.delete(state.home, true)))
      assert(!new File(dir, "_zorder").exists())
      assert(visible(dir) === Set("a"))
    }
  }

  test("a record that nobody could read is not committed") {
    withTable { (dir, state) =>
      val ours = stage(dir, state, "ours", Map("p=1" -> ((Seq("a", "b"), Seq("new")))))
      val twice = ours.copy(changes =
        ours.changes.map(c => c.copy(replaced = c.replaced.map(_.copy(name = "a")))))
      val e = intercept[IllegalStateException](
        new Committer(state, "t").commit(twice, () => ()))
      assert(e.getMessage.contains("it names a twice"))
      assert(numbers(state) === Nil)
      assert(new Committer(state, "t").commit(ours, () => ()) === 1)
    }
  }

  test("an unreadable record stops a commit") {
    withTable { (dir, state) =>
      val ours = stage(dir, state, "ours", one("a"))
      put(dir, "_zorder/_commits/_1", "{\"version\":99}")
      fails("ZORDER_STATE_UNREADABLE", "_1")(
        new Committer(state, "t").commit(ours, () => ()))
    }
  }

  test("a checkpoint of another session between two batches is no conflict, and no conflict is forgotten") {
    withTable { (dir, state) =>
      val committer = new Committer(state, "t")
      def batch(name: String, file: String) = {
        val record = stage(dir, state, name, Map(file -> ((Seq(file), Seq(s"new-$file")))))
        end(committer.commit(record, () => ()), record)
      }
      // without files that are kept
      def end(number: Long, record: Record): Unit = {
        state.markDone(number, record.run)
        new Intents(state).remove(record.run)
      }
      batch("first", "a")
      val theirs = stage(dir, state, "theirs", Map("p=1" -> ((Seq("z"), Seq("new-z")))))
      assert(state.createRecord(2, theirs))
      end(2, theirs)
      (1 to 25).foreach(i => batch(s"batch $i", s"b$i"))
      new Checkpoints(state, System.currentTimeMillis()).writeIfDue()
      assert(TableLog.read(state).after(0).isEmpty)
      batch("last", "c")
      val ours = stage(dir, state, "ours", Map("p=1" -> ((Seq("z"), Seq("newer")))))
      fails("ZORDER_CONFLICT", s"run ${id("theirs")}", "p=1/z")(committer.commit(ours, () => ()))
    }
  }
}
