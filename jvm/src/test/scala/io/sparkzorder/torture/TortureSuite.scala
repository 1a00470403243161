package io.sparkzorder.torture

import java.nio.file.Files

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow

/** The short version of `make torture`: a few kills around the commit and while files are exchanged. */
class TortureSuite extends AnyFunSuite {

  test("killed by SIGKILL before some changes and at random moments: old rows or new rows", Slow) {
    val base = Files.createTempDirectory("torture").toFile
    val session = TortureSession.start(base)
    val seed = System.currentTimeMillis()
    try {
      val torture = new Torture(base, session, folders = 2, files = 3)
      val random = new Random(seed)
      val phases = torture.steps.groupBy(_.phase)
      def pick(phase: String): Moment = {
        val steps = phases(phase)
        BeforeChange(steps(random.nextInt(steps.size)).change)
      }
      val last = BeforeChange(torture.steps.last.change)
      val moments = Seq(pick("write"), pick("commit"), pick("publish"), last) ++
        Moment.random(1, torture.steps, random)
      val kills = moments.zipWithIndex.map { case (m, i) => torture.kill(m, new Random(seed + i)) }
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
