package io.sparkzorder

import scala.util.Random

import org.scalatest.Assertions

/**
 * Random inputs that can be had again: a failure names the seed, and
 * `-Dsparkzorder.test.seed=<number>` repeats it.
 */
trait RandomInputs { this: Assertions =>

  def withRandom[T](body: Random => T): T = {
    val seed = sys.props.get("sparkzorder.test.seed").fold(20261121L)(_.toLong)
    withClue(s"[sparkzorder.test.seed=$seed] ")(body(new Random(seed)))
  }
}
