// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import scala.util.Try

import org.scalatest.tagobjects.Slow

import io.sparkzorder.skipping.OrdersOfThePages

/**
 * The predicates of `docs/benchmarks/functions.md` on the table `orders`: what the page says of each of
 * them is what the index does, and no file with a matching row is let go.
 */
class FunctionShapesSuite extends OrdersOfThePages {

  /** Each predicate of the page with the number of files that it keeps. */
  private def shapes: Seq[(String, String)] = {
    val row = "\\| `(.+)` \\| (\\d+) \\| (\\d+) \\|".r
    page("benchmarks/functions.md").collect { case row(predicate, _, now) =>
      predicate.replace("\\|", "|") -> now.trim
    }
  }

  /** One of so many predicates, which lie beside each other by kinds. */
  private val quick = 18

  for ((ansi, every, tags) <- Seq(
      ("true", quick, Nil),
      ("true", 1, Seq(Slow)),
      ("false", 1, Seq(Slow))))
    test(
      s"what the page lists as pruning prunes, ANSI $ansi, one predicate of $every",
      tags: _*) {
      inConf("spark.sql.ansi.enabled" -> ansi, "spark.sql.session.timeZone" -> "UTC") {
        withOrders { dir =>
          val df = read(dir)
          val some = shapes.zipWithIndex.collect { case (s, i) if i % every == 0 => s }
          val atOnce = Try(keptFilesEach(df, some.map(_._1)))
          val found = some.zipWithIndex.map { case ((p, now), i) =>
            // one by one, the predicate that fails is named
            (p, now, if (atOnce.isSuccess) atOnce.map(_(i)) else Try(df.where(p)).map(keptFiles))
          }
          found.foreach { case (p, now, kept) =>
            info(f"${kept.fold(_.getMessage.linesIterator.next(), _.toString)}%-4s $now%-4s $p")
          }
          val wrong = found.filterNot { case (_, now, kept) =>
            kept.toOption.exists(_.toString == now)
          }
          assert(
            wrong.isEmpty,
            s"${wrong.size} of ${found.size}: ${wrong.mkString("\n", "\n", "")}")
        }
      }
    }
}
