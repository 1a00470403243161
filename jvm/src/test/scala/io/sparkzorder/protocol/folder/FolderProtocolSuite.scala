// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.protocol.folder

import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow

class FolderProtocolSuite extends AnyFunSuite {

  import Case._

  /** Each takes some seconds. */
  private val slower =
    Set(
      abandonedAfterCrash,
      vacuumed,
      overwrittenPartition,
      sparedRecovered,
      fileOverwrittenRecovered,
      fileRemovedRecovered,
      newRemoved,
      moved,
      readersOfMovedAndAbandoned,
      readersOfHiddenMovedAndAbandoned,
      cleaned,
      cleanedAndAbandoned,
      twoPasses,
      twoPassesGoOn,
      twoPassesOverwritten,
      overwrittenTable(stateFirst = false),
      readersOfConflict,
      readersOfMoved,
      restored,
      cleanedWhileEnded,
      undoneVacuumed,
      undoneAbandoned,
      undoneExpired,
      undoneMoved,
      undoneCleaned,
      undoneRemoved,
      undoneOldRemoved,
      overwrittenTable(stateFirst = true),
      recoverers,
      readers,
      readersOfCleaned,
      twoRewriters).map(_.name)

  for (c <- quick) test(c.name, (if (slower(c.name)) Seq(Slow) else Nil): _*) {
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

  catches(Fault.NoToken, spared, "is back")
  catches(Fault.NothingBack, fileOverwritten, "missing")
  catches(Fault.OpenDoor, fileRemovedRecovered, "missing")
  catches(Fault.NewBeforeOld, recovery, "twice")
  catches(Fault.NoLookAfterMove, fileOverwritten, "missing")
  catches(Fault.CleanUnseen, vacuumed, "missing", "in doubt")
  catches(Fault.GuessOverwritten, cleaned, "missing")
  catches(Fault.NoCopies, moved, "missing", "still there")
  catches(Fault.MovedUnseen, readersOfMoved, "missed")
  catches(Fault.MergeReturned, restored, "twice")
  catches(Fault.DoubtInOwn, cleanedWhileEnded, "missing", "missed")
  catches(Fault.GiveAllBack, undoneRecordLost, "missing", "in doubt", "twice")
  catches(Fault.DiscardAll, overwrittenTable(true), "is nowhere")
}
