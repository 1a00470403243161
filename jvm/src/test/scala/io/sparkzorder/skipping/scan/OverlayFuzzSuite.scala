// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import java.io.File

import scala.collection.mutable
import scala.util.{Failure, Random, Success, Try}

import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.DataFrame

import io.sparkzorder.{FaultyFileSystem, RandomInputs}

/**
 * Random histories of a table: optimized, killed, appended to, overwritten, recovered; read fresh and
 * through listings of any age. A model of rows by partition says what must come out.
 */
class OverlayFuzzSuite extends OverlayTestBase with RandomInputs {

  private type Rows = Map[Int, Set[Long]]

  /** A data frame with the rows at its listing and the partitions overwritten since. */
  private final class Held(val df: DataFrame, val rows: Rows) {
    val overwritten: mutable.Set[Int] = mutable.Set.empty
  }

  private final class History(dir: File, random: Random) {
    var rows: Rows = Map.empty
    val held: mutable.ArrayBuffer[Held] = mutable.ArrayBuffer.empty
    val log: mutable.ArrayBuffer[String] = mutable.ArrayBuffer.empty
    var halfWay = 0
    private var next = 0L

    private def newRows(partition: Int): (DataFrame, Set[Long]) = {
      val n = 1 + random.nextInt(20)
      val ids = next until next + n
      next += n
      val df = spark.range(ids.start, ids.end, 1, 1 + random.nextInt(2))
        .selectExpr("id", "pmod(hash(id), 100) a", "pmod(hash(id, 1), 100) b", s"$partition p")
      df -> ids.toSet
    }

    def append(p: Int): Unit = {
      val (df, ids) = newRows(p)
      df.write.mode("append").partitionBy("p").parquet(plain(dir))
      rows += p -> (rows.getOrElse(p, Set.empty) ++ ids)
      log += s"append $p"
    }

    def overwrite(p: Int): Unit = {
      val (df, ids) = newRows(p)
      withSQLConf("spark.sql.sources.partitionOverwriteMode" -> "dynamic") {
        df.write.mode("overwrite").partitionBy("p").parquet(plain(dir))
      }
      rows += p -> ids
      held.foreach(_.overwritten += p)
      log += s"overwrite $p"
    }

    def optimize(kill: Boolean): Unit = {
      val where = if (random.nextBoolean()) s"WHERE p = ${random.nextInt(3)}" else ""
      val by = if (random.nextInt(4) == 0) "" else "ZORDER BY (a, b)"
      val retention = if (random.nextBoolean()) "'retention' '0s'," else ""
      // so that there is something to be killed
      val full = if (kill) "FULL" else ""
      val text = s"OPTIMIZE 'faulty://${plain(dir)}' $full $where $by " +
        s"OPTIONS ($retention 'targetFileSize' '${1000 + random.nextInt(3000)}')"
      // few steps lie between a commit and its end, so half of the kills count only those
      val afterCommit = random.nextBoolean()
      // publishing takes about that many steps; later ones come to nothing
      val k = if (kill) random.nextInt(if (afterCommit) 4 else 40) else Int.MaxValue
      val result = Try(FaultyFileSystem.failing(k) { (operation, path) =>
        operation != "list" && path.toString.contains(plain(dir)) &&
        (!afterCommit || halfPublished)
      }(sql(text).collect()))
      if (halfPublished) halfWay += 1
      val when = if (afterCommit) s"$k after a commit" else s"$k"
      log += s"$text killed at $when: ${result.map(_ => "done")}"
    }

    private def halfPublished: Boolean = {
      val names = Option(new File(dir, "_zorder/_commits").list()).toSeq.flatten
      names.count(_.matches("_\\d+")) > names.count(_.endsWith("_done"))
    }

    def hold(): Unit = {
      held += new Held(read(dir), rows)
      log += s"hold ${held.size - 1}"
    }

    private def seen(df: DataFrame): Seq[(Int, Long)] =
      df.selectExpr("p", "id").collect().toSeq.map(r => r.getInt(0) -> r.getLong(1))

    def checkFresh(): Unit = {
      val expected = rows.toSeq.flatMap { case (p, ids) => ids.map(p -> _) }.sorted
      assert(seen(read(dir)).sorted === expected, log.mkString("\n", "\n", "\n"))
    }

    def checkHeld(): Unit = held.zipWithIndex.foreach { case (h, i) =>
      val clue = s"data frame $i after${log.mkString("\n", "\n", "\n")}"
      Try(seen(h.df.select("*"))) match {
        case Failure(e) =>
          // Spark's own complaint of files that somebody else has removed
          assert(h.overwritten.exists(h.rows.contains), s"$clue$e")
          assert(
            Iterator.iterate(e)(_.getCause).takeWhile(_ != null).exists(c =>
              c.isInstanceOf[java.io.FileNotFoundException] ||
                c.getMessage.contains("FILE_NOT_EXIST")),
            s"$clue$e")
        case Success(found) =>
          assert(found.distinct.size === found.size, s"doubled rows: $clue")
          val byPartition = found.groupBy(_._1).map { case (p, rs) => p -> rs.map(_._2).toSet }
          h.rows.foreach {
            case (p, ids) if !h.overwritten(p) =>
              val now = byPartition.getOrElse(p, Set.empty[Long])
              assert(ids.subsetOf(now), s"lost rows: $clue")
            case _ =>
          }
          byPartition.foreach { case (p, now) =>
            assert(now.subsetOf(rows.getOrElse(p, Set.empty)), s"rows from nowhere: $clue")
          }
      }
    }
  }

  test("random histories", Slow) {
    withRandom { random =>
      var halfWay = 0
      for (_ <- 0 until 4) withTableDir { dir =>
        val history = new History(dir, random)
        (0 until 3).foreach(history.append)
        history.hold()
        for (_ <- 0 until 12) {
          random.nextInt(10) match {
            case 0 | 1 => history.append(random.nextInt(3))
            case 2 => history.overwrite(random.nextInt(3))
            case 3 | 4 | 5 | 6 => history.optimize(kill = true)
            case 7 | 8 => history.optimize(kill = false)
            case _ => history.hold()
          }
          history.checkFresh()
          history.checkHeld()
        }
        halfWay += history.halfWay
      }
      info(s"$halfWay runs were killed between their commit and their end")
      assert(halfWay > 0)
    }
  }
}
