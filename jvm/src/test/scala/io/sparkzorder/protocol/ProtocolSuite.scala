package io.sparkzorder.protocol

import org.scalatest.funsuite.AnyFunSuite

/** Every interleaving of small scenarios; the steps that break an invariant are printed. */
class ProtocolSuite extends AnyFunSuite {

  for (s <- Scenario.quick) test(s.name) {
    val found = s.explore()
    info(s"${found.states} states, ${found.transitions} transitions, ${found.ends} ends")
    found.violation.foreach(v => fail(v.toString))
    assert(found.ends > 0)
  }

  private def catches(variant: Variant.Value, scenario: Scenario, invariant: String): Unit =
    test(s"$variant is caught: ${scenario.name}") {
      val violation = scenario.explore(variant).violation
      violation.foreach(v => info(v.toString))
      assert(violation.map(_.invariant) === Some(invariant))
    }

  import Scenario._
  import Variant._

  catches(CommitBeforeVerify, recovery, "no only copy deleted")
  catches(DeleteBeforeCommit, recovery, "no only copy deleted")
  catches(NewBeforeOld, readers, "no row twice")
  catches(CommitByOverwrite, twoRewriters, "the commit is exclusive")
  catches(NoRecheck, partitionOverwritten, "no replaced row comes back")
  catches(StagedStraightIn, partitionOverwritten, "no replaced row comes back")
  catches(MarkerIgnored, partitionOverwritten, "no replaced row comes back")
  catches(NoteAfterDiscard, fileOverwritten, "no only copy deleted")
  catches(NoLookAfterMove, fileOverwritten, "no only copy deleted")
  catches(DoneWithoutRun, latePublisher, "after recovery")
  catches(PartialFiles, tableOverwritten(stateFirst = true), "after recovery")
}
