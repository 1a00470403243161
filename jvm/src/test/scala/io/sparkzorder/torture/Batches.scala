// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.torture

import scala.util.Random

/** Chooses what is killed when. */
private[torture] final class Batches(lane: Torture, random: Random) {
  private val steps: Map[Boolean, Map[String, Seq[StepLog.Line]]] =
    lane.kinds.map(hive => hive -> lane.measure(hive)).toMap

  /**
   * Every step of every statement once, and as many statements while they run as make up `n`; fewer of
   * both when `n` is smaller. Mixed, so that a run that is cut short has killed everywhere.
   */
  def all(n: Int): Seq[Batch] = {
    val each = for {
      scene <- lane.scenes
      step <- steps(false)(scene.name)
    } yield withOther(target(scene, hive = false, step.change))
    val ofHive = for {
      hive <- lane.kinds if hive
      scene <- lane.scenes
      step <- steps(hive)(scene.name)
    } yield withOther(target(scene, hive, step.change))
    val stopped = random.shuffle(each) ++ random.shuffle(ofHive).take(each.size / 8)
    val running = Seq.fill(math.max(n - stopped.size, n / 3)) {
      val scene =
        if (random.nextBoolean()) lane.scenes.head
        else lane.scenes(random.nextInt(lane.scenes.size))
      val hive = lane.hasHive && random.nextInt(8) == 0
      target(scene, hive, Moment.random(steps(hive)(scene.name), random))
    }
    val stops = random.shuffle(processes(stopped)).map(Batch(_, stops = true))
    val runs = random.shuffle(processes(running)).map(Batch(_, stops = false))
    val mixed = random.shuffle(stops ++ runs)
    val sizes = mixed.scanLeft(0)(_ + _.targets.size)
    mixed.zip(sizes).takeWhile(_._2 < n).map(_._1)
  }

  // those with Hive's catalog together, since such a session takes long to start
  private def processes(targets: Seq[Target]): Seq[Seq[Target]] = {
    val (hive, plain) = targets.partition(_.hive)
    // half of a process is for tables in Hive's format, and the rest beside them
    val beside = hive.grouped(Torture.Orders / 2).toSeq
    val (near, without) = plain.splitAt(hive.size)
    val mixed = beside.zip(near.grouped(Torture.Orders / 2).toSeq ++ Seq.fill(beside.size)(Nil))
      .map { case (h, p) => random.shuffle(h ++ p) }
    mixed ++ without.grouped(Torture.Orders).toSeq
  }

  /** Of three statements one goes on alone, and beside one somebody appends or overwrites before the kill. */
  private def withOther(target: Target): Target =
    if (!target.scene.isFlat || target.change == 0 || random.nextInt(3) == 0) target
    else target.copy(other = Some(random.nextBoolean() -> random.nextInt(target.change)))

  private def target(scene: Scene, hive: Boolean, change: Int): Target =
    Target(scene, hive, scene.states(random.nextInt(scene.states.size)), change)
}
