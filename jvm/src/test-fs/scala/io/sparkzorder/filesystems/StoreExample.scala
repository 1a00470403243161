// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.filesystems

import java.io.ByteArrayOutputStream
import java.nio.file.{Files, Paths}

import org.apache.spark.sql.{ColumnName, SparkSession}

/**
 * The example of `docs/object-stores.md`: blocks of SQL, each with what its last statement shows. `S3aSuite` compares
 * the output, and `make demo-store` prints it.
 */
object StoreExample {

  /** @param expected the table that the page shows below the statements */
  case class Step(statements: Seq[String], expected: String)

  def steps(): Seq[Step] = {
    val page = new String(Files.readAllBytes(Paths.get("docs/object-stores.md")), "UTF-8")
    val example = page.substring(page.indexOf("## An example")).split("\n## ").head
    "(?s)```sql\n(.*?)```\n\n```text\n(.*?)```".r.findAllMatchIn(example).map { found =>
      Step(found.group(1).split(";\\s*\n").map(_.trim).filter(_.nonEmpty).toSeq, found.group(2))
    }.toSeq
  }

  /** Runs statements; those columns of the last result that the page shows, as `show` prints them. */
  def run(spark: SparkSession, step: Step): String = {
    val header = step.expected.linesIterator.toSeq(1)
    val columns = header.split('|').toSeq.map(_.trim).filter(_.nonEmpty)
    val last = step.statements.map(spark.sql).last.select(columns.map(new ColumnName(_)): _*)
    val out = new ByteArrayOutputStream
    Console.withOut(out)(last.show(20, truncate = 0))
    out.toString("UTF-8").trim
  }
}
