// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.auto

import org.scalatest.funsuite.AnyFunSuite

import io.sparkzorder.workload._

/** The boxes that stand for recorded scans, and how much each counts. */
class RecordedQueriesSuite extends AnyFunSuite {
  private val columns = IndexedSeq("a", "b", "c", "d", "e")

  private def template(column: String) = Template(Seq(ColumnUse(column, UseKind.Range)))

  /** @param boxes of different places */
  private def use(weight: Double, boxes: Int) = TemplateUse(
    weight,
    count = boxes.toLong,
    unused = 0,
    (0 until boxes).map { i =>
      RankBox(Seq(Seq(RankInterval(i / 100, 100 + i % 100)))) -> weight / boxes
    }.toMap)

  private def queries(files: Int, of: (String, TemplateUse)*): RecordedQueries =
    new RecordedQueries(
      Workload(of.map { case (c, u) => template(c) -> u }.toMap),
      columns,
      files)

  /** The weight of the boxes that restrict each column, as a share of all. */
  private def shares(q: RecordedQueries): Map[String, Double] = {
    val boxes = q.boxesOf(columns.indices)
    val all = boxes.map(_.weight).sum
    columns.indices.map(c =>
      columns(c) -> boxes.filter(_.sides(c).isDefined).map(_.weight).sum / all).toMap
  }

  test("a form counts by its bytes, however many forms there are") {
    def of(weights: Double*) =
      shares(queries(64, columns.zip(weights).map { case (c, w) => c -> use(w, 1) }: _*))
    for (weights <-
        Seq(Seq(97.0, 1.0, 1.0, 1.0), Seq(60.0, 30.0, 5.0, 3.0, 2.0), Seq(80.0, 20.0))) {
      val found = of(weights: _*)
      columns.zip(weights).foreach { case (c, w) =>
        assert(math.abs(found(c) - w / weights.sum) < 1e-9, found)
      }
    }
  }

  test("boxes are left out of each form alike, and the form keeps its weight") {
    for (files <- Seq(64, 100000)) {
      val q = queries(
        files,
        "a" -> use(27, 2000),
        "b" -> use(25, 1),
        "c" -> use(24, 3),
        "d" -> use(24, 10))
      val of = shares(q)
      assert(math.abs(of("a") - 0.27) < 1e-6 && math.abs(of("b") - 0.25) < 1e-6, of)
      assert(math.abs(q.weight - 100) < 1e-6)
      val boxes = q.boxesOf(columns.indices)
      assert(boxes.size === (if (files == 64) 512 else 100))
      // not the first places only
      val places = boxes.flatMap(_.sides.head.toSeq.flatten).map(_._1 * 256)
      assert(places.max > 15 && places.min < 5, places)
    }
  }
}
