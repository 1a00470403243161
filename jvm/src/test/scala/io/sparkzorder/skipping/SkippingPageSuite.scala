// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping

import java.io.File

import scala.util.{Failure, Success, Try}

import org.scalatest.tagobjects.Slow

import io.sparkzorder.skipping.dynamic.StarTestBase

/**
 * The tables of `docs/skipping-index.md`: the examples of what prunes read fewer files than the table has, and
 * the examples of what does not read all.
 */
class SkippingPageSuite extends StarTestBase with OrdersOfThePages {
  private val All = 16

  /** An example of the page, and whether the page says that it prunes. */
  private case class Example(text: String, prunes: Boolean)

  /** The examples of the tables whose header begins with some words. */
  private def examples(header: String): Seq[Example] = {
    val lines = page("skipping-index.md")
    val tables = lines.indices.filter(i => lines(i).startsWith(s"| $header |"))
    assert(tables.nonEmpty, s"no table of $header")
    tables.flatMap(i => lines.drop(i + 2).takeWhile(_.startsWith("|"))).flatMap { row =>
      val cells = row.replace("\\|", "\u0000").split('|').map(_.trim.replace('\u0000', '|'))
      val found = "`([^`]+)`".r.findAllMatchIn(cells.lift(3).getOrElse("")).map(_.group(1)).toSeq
      assert(found.nonEmpty || cells(2).contains("(#joins-and-subqueries)"), s"no example: $row")
      val isNo = Seq("no", "no.", "nothing", "neither").contains(cells(2).split(' ').head)
      found.map(Example(_, prunes = !isNo))
    }
  }

  private def check(all: Seq[Example])(files: String => Long): Unit = {
    val wrong = all.flatMap { e =>
      Try(files(e.text)) match {
        case Success(n) if (n < All) == e.prunes => None
        case Success(n) => Some(s"$n of $All files: ${e.text}")
        case Failure(error) => Some(s"$error: ${e.text}")
      }
    }
    assert(wrong.isEmpty, wrong.mkString("\n", "\n", ""))
  }

  /** One of so many examples, for a run that has not the time for all. */
  private def some(all: Seq[Example], every: Int): Seq[Example] =
    all.zipWithIndex.collect { case (e, i) if i % every == 0 => e }

  for ((ansi, every, tags) <- Seq(
      ("true", 18, Nil),
      ("true", 1, Seq(Slow)),
      ("false", 1, Seq(Slow)))) {
    test(s"predicates and functions, ANSI $ansi, one of $every", tags: _*) {
      inConf("spark.sql.ansi.enabled" -> ansi) {
        withOrders { dir =>
          val table = read(dir)
          val all = examples("predicate | prunes") ++ examples("function | what the index knows")
          val texts = some(all, every).map(_.text)
          val kept = Try(texts.zip(keptFilesEach(table, texts)).toMap)
          check(some(all, every)) { p =>
            // one by one, the predicate that fails is named
            kept.map(_(p)).getOrElse(keptFilesEach(table, Seq(p)).head).toLong
          }
        }
      }
    }
  }

  for ((threshold, every, tags) <- Seq(
      ("16k", 36, Nil),
      ("16k", 1, Seq(Slow)),
      ("-1", 1, Seq(Slow)))) {
    test(s"joins and subqueries, broadcasts up to $threshold, one of $every", tags: _*) {
      withOrders { orders =>
        withTempView("orders", "days") {
          read(orders).createOrReplaceTempView("orders")
          val days = new File(orders.getParentFile, "days")
          sql("SELECT d, month(d) m, cast(date_format(d, 'yyyyMMdd') as int) k FROM " +
            "(SELECT date_add(date'2024-01-01', cast(id as int)) d FROM range(366))")
            .coalesce(1).write.parquet(days.getPath)
          read(days).createOrReplaceTempView("days")
          inConf("spark.sql.autoBroadcastJoinThreshold" -> threshold) {
            check(some(examples("query | prunes the files of"), every)) { q =>
              filesRead(checkRows(sql(q)), "orders").sum
            }
          }
        }
      }
    }
  }
}
