// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping

import java.io.File
import java.nio.file.{Files, Path, Paths}

import scala.collection.JavaConverters._

import org.apache.spark.sql.DataFrame

/**
 * The table `orders` of `docs/benchmarks/functions.md`: 16 files in a grid of 4 by 4, a quarter of 2024 by
 * `ordered_at`, and a thousand customers by `customer_id`.
 */
trait OrdersOfThePages extends SkippingTestBase {
  private val countries = Seq("Austria", "Germany", "Norway", "Zambia")

  protected def page(name: String): Seq[String] = {
    val start = Paths.get("").toAbsolutePath
    val found: Path = Iterator.iterate(start)(_.getParent).takeWhile(_ != null)
      .map(_.resolve("docs").resolve(name)).find(Files.exists(_)).get
    Files.readAllLines(found).asScala.toSeq
  }

  private def quarter(q: Int, c: Int): DataFrame = spark.range(120).selectExpr(
    "id",
    s"timestamp'2024-01-01 01:00:00' + make_interval(0, ${q * 3}, 0, 0, 0, 0, id * 64800) t",
    s"${c * 1000} + cast(id * 8 as int) n")
    .selectExpr(
      "t ordered_at",
      "cast(t as timestamp_ntz) local_at",
      "cast(t as date) d",
      "cast(n as bigint) customer_id",
      "n qty",
      "cast(n + 0.25 as decimal(12,2)) price",
      "cast(n * 100 as decimal(38,4)) wide",
      "n + 0.25D amount",
      "n - 2000 delta",
      "n >= 2000 late",
      "if(id % 7 = 3, null, n) opt",
      "unix_timestamp(t) epoch",
      "unix_timestamp(t) * 1000 epoch_ms",
      "date_format(t, 'yyyyMMdd') dkey",
      "cast(date_format(t, 'yyyyMMdd') as int) dint",
      "date_format(t, 'yyyy-MM-dd HH:mm:ss') dtext",
      "t + interval 2 days shipped_at",
      "concat('C-', lpad(cast(n as string), 6, '0')) code",
      "cast(concat('C-', lpad(cast(n as string), 6, '0')) as binary) bin",
      "concat('https://shop.example.com/', lpad(cast(n as string), 6, '0')) url",
      "concat('e', lpad(cast(n as string), 6, '0'), '@example.com') email",
      s"concat('${countries(c)} ', n) name",
      "named_struct('id', n) item",
      // so large that Spark broadcasts no part of the table
      "concat(sha2(string(n), 512), sha2(string(-n), 512), sha2(string(n + id), 512)) text")

  protected def withOrders(body: File => Unit): Unit = withTableDir { dir =>
    inConf(
      "spark.sql.parquet.outputTimestampType" -> "TIMESTAMP_MICROS",
      "spark.sql.session.timeZone" -> "UTC") {
      val orders = new File(dir, "orders")
      filesAtOnce(orders, (for (q <- 0 until 4; c <- 0 until 4) yield quarter(q, c)): _*)
      createIndex(orders)
      body(orders)
    }
  }
}
