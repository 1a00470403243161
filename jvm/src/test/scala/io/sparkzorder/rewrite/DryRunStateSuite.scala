// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite

import org.scalatest.tagobjects.Slow

import io.sparkzorder.commands.FaultyTables

/** DRY RUN changes nothing, and still plans for the files that the records say are there. */
class DryRunStateSuite extends FaultyTables {

  for ((k, tags) <- Seq(4 -> Nil, 0 -> Seq(Slow), 2 -> Seq(Slow), 6 -> Seq(Slow))) test(
    s"a half-published table: DRY RUN says what it says once the run is published, killed at rename $k",
    tags: _*) {
    withTableDir { dir =>
      write(shuffled(300, 3).selectExpr("*", "id % 2 p"), dir, "p")
      val (run, _) = killedAt(k)(isPublishing)(
        sql(s"OPTIMIZE ${faulty(dir)} ZORDER BY a OPTIONS (${sizeFor(dir, 6)})").collect())
      assert(run.isFailure)
      val before = snapshot(dir)
      val statement = s"OPTIMIZE '$dir' FULL ZORDER BY b DRY RUN"
      val half = one(statement)
      assert(snapshot(dir) === before)
      one(s"RECOVER LAYOUT '$dir'")
      val whole = one(statement)
      assert(metric(half, "numFilesRemoved") === metric(whole, "numFilesRemoved"), s"killed at $k")
      assert(gains(half) === gains(whole), s"killed at $k")
    }
  }
}
