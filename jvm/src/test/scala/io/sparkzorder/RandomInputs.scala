// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder

import scala.util.Random

import org.scalatest.Assertions

/**
 * Random inputs that can be reproduced: a failure names the seed, and
 * `-Dsparkzorder.test.seed=<number>` repeats it.
 */
trait RandomInputs { this: Assertions =>

  def randomSeed: Long = sys.props.get("sparkzorder.test.seed").fold(20261121L)(_.toLong)

  def withRandom[T](body: Random => T): T =
    withClue(s"[sparkzorder.test.seed=$randomSeed] ")(body(new Random(randomSeed)))
}
