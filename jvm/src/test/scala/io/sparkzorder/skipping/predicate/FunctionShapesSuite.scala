package io.sparkzorder.skipping.predicate

import java.io.File
import java.nio.file.{Files, Path, Paths}

import scala.collection.JavaConverters._
import scala.util.Try

import io.sparkzorder.skipping.SkippingTestBase

/**
 * The predicates of `docs/benchmarks/functions.md` on the table `orders`: what the page says of each of
 * them is what the index does, and no file with a matching row is let go.
 */
class FunctionShapesSuite extends SkippingTestBase {

  private val page: Path = {
    val start = Paths.get("").toAbsolutePath
    Iterator.iterate(start)(_.getParent).takeWhile(_ != null)
      .map(_.resolve("docs/benchmarks/functions.md")).find(Files.exists(_)).get
  }

  /** Each predicate of the page with the number of files that it keeps. */
  private def shapes: Seq[(String, String)] = {
    val row = "\\| `(.+)` \\| ([^|]+) \\| ([^|]+) \\|".r
    Files.readAllLines(page).asScala.toSeq.collect { case row(predicate, _, now) =>
      predicate.replace("\\|", "|") -> now.trim
    }
  }

  private def quarter(q: Int, c: Int) = spark.range(120).selectExpr(
    s"timestamp'2024-01-01 01:00:00' + make_interval(0, ${q * 3}, 0, 0, 0, 0, id * 64800) t",
    s"${c * 1000} + cast(id * 8 as int) n")
    .selectExpr(
      "t ordered_at",
      "cast(t as timestamp_ntz) local_at",
      "cast(t as date) d",
      "cast(n as bigint) customer_id",
      "n qty",
      "cast(n + 0.25 as decimal(12,2)) price",
      "n + 0.25D amount",
      "n - 2000 delta",
      "unix_timestamp(t) epoch",
      "unix_timestamp(t) * 1000 epoch_ms",
      "date_format(t, 'yyyyMMdd') dkey",
      "cast(date_format(t, 'yyyyMMdd') as int) dint",
      "date_format(t, 'yyyy-MM-dd HH:mm:ss') dtext",
      "t + interval 2 days shipped_at")

  private def withOrders(body: File => Unit): Unit = withTableDir { dir =>
    inConf("spark.sql.parquet.outputTimestampType" -> "TIMESTAMP_MICROS") {
      filesOf(dir, (for (q <- 0 until 4; c <- 0 until 4) yield quarter(q, c)): _*)
      createIndex(dir)
      body(dir)
    }
  }

  for (ansi <- Seq("true", "false"))
    test(s"what the page lists as pruning prunes, ANSI $ansi") {
      inConf("spark.sql.ansi.enabled" -> ansi, "spark.sql.session.timeZone" -> "UTC") {
        withOrders { dir =>
          val df = read(dir)
          val found = shapes.map { case (p, now) => (p, now, Try(df.where(p)).map(keptFiles)) }
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
