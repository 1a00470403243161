package io.sparkzorder.protocol

import org.scalatest.funsuite.AnyFunSuite

/** Every interleaving of small scenarios; the steps that break an invariant are printed. */
class ProtocolSuite extends AnyFunSuite {

  for (s <- Scenario.quick) test(s.name) {
    val found = s.explore()
    info(s"${found.states} states, ${found.transitions} transitions, ${found.ends} ends")
    found.violation.foreach(v => fail(v.toString))
    assert(found.complete && found.ends > 0)
  }

  private def catches(variant: Variant.Value, scenario: Scenario, words: String*): Unit =
    test(s"$variant is caught: ${scenario.name}") {
      val violation = scenario.explore(variant).violation
      violation.foreach(v => info(v.toString))
      assert(violation.isDefined)
      assert(words.exists(violation.get.message.contains), violation.get.message)
    }

  import Scenario._
  import Variant._

  catches(CommitBeforeVerify, recovery, "is nowhere", "missing")
  catches(DeleteBeforeCommit, recovery, "is nowhere", "missing")
  catches(NewBeforeOld, readers, "twice")
  catches(CommitByOverwrite, twoRewriters, "is now")
  catches(NoRecheck, partitionOverwritten, "is back")
  catches(StagedStraightIn, partitionOverwritten, "is back", "is nowhere")
  catches(MarkerIgnored, partitionOverwritten, "is back")
  catches(NoLookAfterMove, fileOverwritten, "is nowhere")
  catches(NothingBack, fileOverwritten, "missing")
  catches(BackUnseen, partitionOverwritten, "is back")
  catches(DoneWithoutRun, latePublisher, "still waits", "is gone")
  catches(PartialFiles, stagedRemoved, "is nowhere", "missing")
}
