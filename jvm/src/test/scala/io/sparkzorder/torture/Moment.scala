package io.sparkzorder.torture

import scala.util.Random

/** When the child is killed. */
private[torture] sealed trait Moment

/** Before its `change`-th change on disk. */
private[torture] final case class BeforeChange(change: Int) extends Moment

/** After a share of the time that the statement takes. */
private[torture] final case class AfterShare(share: Double) extends Moment

/** As soon as it is seen to have reached its `change`-th change, while it runs on. */
private[torture] final case class RunningPast(change: Int) extends Moment

private[torture] object Moment {

  /** Some uniform over time, most while it writes, commits and publishes. */
  def random(n: Int, steps: Seq[StepLog.Line], random: Random): Seq[Moment] = {
    val late = steps.map(_.change).filter(c => Set("commit", "publish")(steps(c).phase))
    Seq.fill(n)(random.nextInt(3)).map {
      case 0 => AfterShare(random.nextDouble())
      case 1 => RunningPast(random.nextInt(steps.size))
      case _ => RunningPast(late(random.nextInt(late.size)))
    }
  }
}
