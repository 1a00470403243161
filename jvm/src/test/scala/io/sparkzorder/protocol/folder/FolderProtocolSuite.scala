package io.sparkzorder.protocol.folder

import org.scalatest.funsuite.AnyFunSuite

class FolderProtocolSuite extends AnyFunSuite {

  for (c <- Case.quick) test(c.name) {
    val found = c.explore()
    info(s"${found.states} states, ${found.transitions} transitions, ${found.ends} ends")
    found.violation.foreach(v => fail(v.toString))
    assert(found.complete && found.ends > 0)
  }

  private def catches(fault: Fault.Value, c: Case, words: String*): Unit =
    test(s"$fault is caught: ${c.name}") {
      val violation = c.explore(fault).violation
      violation.foreach(v => info(v.toString))
      assert(violation.isDefined)
      assert(words.exists(violation.get.message.contains), violation.get.message)
    }

  import Case._

  catches(Fault.NoCanary, spared, "is back")
  catches(Fault.NothingBack, fileOverwritten, "missing")
  catches(Fault.OpenDoor, fileRemovedRecovered, "missing")
  catches(Fault.TokenBackwards, recovery, "missing")
  catches(Fault.NewBeforeOld, recovery, "twice")
  catches(Fault.NoLookAfterMove, fileOverwritten, "missing")
  catches(Fault.BackUnseen, spared, "is back")
  catches(Fault.CleanUnseen, vacuumed, "missing")
  catches(Fault.DiscardAll, overwrittenTable(true), "is nowhere")
}
