// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.torture

/**
 * One kill and what came of it.
 *
 * @param phase of OPTIMIZE in which the kill fell; `done` when the statement had ended
 * @param answers of a reader that asked all the time
 * @param committed whether the record was there
 * @param recoveriesFailed recoveries that were made to fail before one went through
 * @param failure what did not hold, if anything
 */
private[torture] final case class Kill(
    target: Target,
    moment: Moment,
    phase: String,
    committed: Boolean,
    recoveriesFailed: Int,
    answers: Int,
    failure: Option[String]) {
  def scene: String = target.scene.name + (if (target.hive) ", Hive's format" else "")
}

private[torture] object Kill {

  private val phases: Seq[String] = Seq(
    "check",
    "list",
    "footers",
    "sample",
    "cuts",
    "write",
    "verify",
    "commit",
    "publish",
    "refresh",
    "done")

  /** Table of kills by phase. */
  def table(kills: Seq[Kill]): String = {
    val head = Seq(
      "statement, phase",
      "killed",
      "at a step",
      "while it ran",
      "record there",
      "answers of readers meanwhile",
      "failed")
    val rows = kills.groupBy(_.scene).toSeq.sortBy(_._1).flatMap { case (scene, own) =>
      (("under way" +: phases) ++ own.map(_.phase)).distinct.flatMap { phase =>
        val in = own.filter(_.phase == phase)
        if (in.isEmpty) None else Some(row(s"$scene, $phase", in))
      }
    }
    (Seq(head, head.map(_ => "---")) ++ rows :+ row("all", kills))
      .map(_.mkString("| ", " | ", " |")).mkString("\n")
  }

  private def row(name: String, kills: Seq[Kill]): Seq[String] = {
    val steps = kills.count(_.moment.isInstanceOf[BeforeChange])
    val numbers = Seq(
      kills.size,
      steps,
      kills.size - steps,
      kills.count(_.committed),
      kills.map(_.answers).sum,
      kills.count(_.failure.isDefined))
    name +: numbers.map(_.toString)
  }
}
