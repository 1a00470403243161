// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.torture

import java.nio.file.Files

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow

/** The short version of `make torture`: a few kills around the commit and while files are exchanged. */
class TortureSuite extends AnyFunSuite {

  test("killed by SIGKILL before some changes and while running: old rows or new rows", Slow) {
    val base = Files.createTempDirectory("torture").toFile
    val session = TortureSession.start(base)
    val seed = System.currentTimeMillis()
    try {
      val torture = new Torture(base, session, new ChildClasses(base), folders = 2, files = 3)
      val random = new Random(seed)
      val scene = torture.scenes.head
      val measured = torture.measure(hive = false)
      val steps = measured(scene.name)
      val phases = steps.groupBy(_.phase)
      def target(change: Int) = Target(scene, hive = false, Scene.Fresh, change)
      def pick(phase: String): Target = {
        val some = phases(phase)
        target(some(random.nextInt(some.size)).change)
      }
      val stops =
        Seq(pick("write"), pick("commit"), pick("publish"), target(steps.last.change))
      val running = Seq.fill(2)(target(Moment.random(steps, random)))
      // within and between the batches of two passes
      val inTwo = torture.scenes(1)
      val stepsInTwo = measured(inTwo.name)
      assert(stepsInTwo.size > 2 * steps.size, "the folders have two passes")
      val between = Seq.fill(6)(
        Target(inTwo, hive = false, Scene.Fresh, Moment.random(stepsInTwo, random)))
      // beside a writer who appends, overwrites or does nothing
      val ofOne = torture.scenes(2)
      val beside = Seq(None, Some(false), Some(true), Some(false), Some(true), None).map { other =>
        val change = 1 + random.nextInt(measured(ofOne.name).size - 1)
        Target(
          ofOne,
          hive = false,
          Scene.Fresh,
          change,
          other.map(overwrites => overwrites -> random.nextInt(change)))
      }
      val kills = torture.kill(Batch(stops, stops = true), random, None) ++
        torture.kill(Batch(running, stops = false), random, None) ++
        torture.kill(Batch(between, stops = true), random, None) ++
        torture.kill(Batch(beside, stops = true), random, None)
      torture.end()
      info(s"seed $seed\n${Kill.table(kills)}")
      assert(kills.flatMap(k => k.failure.map(f => s"$k: $f")) === Nil, s"seed $seed")
      assert(kills.exists(_.committed) && kills.exists(!_.committed))
    } finally {
      session.stop()
      TortureTable.delete(base)
    }
  }
}
