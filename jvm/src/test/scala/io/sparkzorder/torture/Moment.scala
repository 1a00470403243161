// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.torture

import scala.util.Random

/** When a child is killed. */
private[torture] sealed trait Moment

/** When this statement stands before its `change`-th change on disk. */
private[torture] final case class BeforeChange(change: Int) extends Moment

/** As soon as one statement of the child is seen to have reached some change, while all run on. */
private[torture] case object Running extends Moment

private[torture] object Moment {

  /** A change of a statement, most while it commits and publishes. */
  def random(steps: Seq[StepLog.Line], random: Random): Int = {
    val late = steps.map(_.change).filter(c => Set("commit", "publish")(steps(c).phase))
    if (late.isEmpty || random.nextInt(3) == 0) random.nextInt(steps.size)
    else late(random.nextInt(late.size))
  }
}
