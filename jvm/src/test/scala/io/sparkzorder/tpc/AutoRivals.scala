// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.tpc

import org.apache.spark.sql.functions.{col, lit, xxhash64}

import io.sparkzorder.cluster.{FolderSample, KeyColumn}
import io.sparkzorder.commands.auto.SimulatedTable
import io.sparkzorder.workload.QueryNotes

/**
 * Layouts beside that of AUTO at the same number of files, simulated on a sample of each table: rows
 * in files that the recorded scans of other queries read, of scans that can skip files. Training and
 * test differ in (a) the seed of the parameters, (b) also the queries, in five folds, (c) also half of the
 * queries.
 */
final class AutoRivals(
    run: AutoRun,
    workload: Workload,
    data: TpcData,
    files: Int,
    say: String => Unit) {
  private val RowsPerFile = 200

  private type Asked = Seq[(String, Int)]

  def report(queries: Seq[TpcQuery], train: Seq[Int], test: Seq[Int]): Unit = {
    val names = queries.map(_.name)
    def of(some: Seq[String], seeds: Seq[Int]): Asked = for (s <- seeds; n <- some) yield (n, s)
    val folds =
      (0 until 5).map(f => names.zipWithIndex.partition(_._2 % 5 != f)).map { case (a, b) =>
        (of(a.map(_._1), train), of(b.map(_._1), test))
      }
    def thirds(some: Int*): Seq[String] =
      names.zipWithIndex.filter(n => some.contains(n._2 % 3)).map(_._1)
    val splits = Seq(
      "a" -> Seq((of(names, train), of(names, test))),
      "b" -> folds,
      "c" -> Seq((of(thirds(0, 1), train), of(thirds(1, 2), test))))
    val results = for {
      fact <- workload.facts
      (split, parts) <- splits
      (asked, held) <- parts
      row <- one(fact, split, asked, held)
    } yield row
    splits.map(_._1).foreach { split =>
      say(s"($split), all tables, weighted by scans and bytes of the table:")
      total(results.filter(_._1 == split).map(r => (r._2, r._3)))
    }
  }

  private def total(rows: Seq[(Double, Seq[(String, Double)])]): Unit = {
    val all = rows.map(_._1).sum
    rows.flatMap(_._2.map(_._1)).distinct.foreach { name =>
      val sum = rows.map { case (w, numbers) => w * numbers.toMap.apply(name) }.sum
      val logs = rows.map { case (w, numbers) => w * math.log(numbers.toMap.apply(name)) }.sum
      say(
        f"    $name%-24s ${100 * sum / all}%.1f %%, geometric ${100 * math.exp(logs / all)}%.1f %%")
    }
  }

  /** Split, weight, and the share that each contender reads. */
  private def one(
      fact: FactTable,
      split: String,
      asked: Asked,
      held: Asked): Option[(String, Double, Seq[(String, Double)])] = {
    val trained = QueryNotes.workload(asked.flatMap { case (q, s) => run.notesOf(fact, q, s) })
    val tested = QueryNotes.workload(held.flatMap { case (q, s) => run.notesOf(fact, q, s) })
    val frame = run.spark.read.parquet(data.generatedFile(fact.name).getPath)
    // columns of both, so that all layouts are judged by the same boxes
    val names = (SimulatedTable.columnsOf(trained, frame.columns.contains(_)) ++
      SimulatedTable.columnsOf(tested, frame.columns.contains(_))).distinct
    if (trained.usableCount == 0 || tested.usableCount == 0) None
    else {
      val table = sampled(fact, names)
      val (learnt, wanted) = (table.boxes(trained), table.boxes(tested))
      val (auto, columns, even) = table.auto(trained)
      val (byWeights, _, _) = table.auto(trained, withBoxes = false)
      val numbers = Seq(
        "AUTO" -> table.reads(auto, wanted),
        "by weights alone" -> table.reads(byWeights, wanted),
        "AUTO, on training" -> table.reads(auto, learnt),
        "equal bits" -> table.reads(even, wanted),
        "best single sort" -> table.reads(table.singleSort(learnt), wanted),
        "the same, by test" -> table.reads(table.singleSort(wanted), wanted),
        "greedy Qd-tree" -> table.reads(table.qdTree(learnt), wanted),
        "bound" -> table.bound(wanted))
      val text = numbers.map { case (n, v) => f"$n ${100 * v}%.1f %%" }.mkString(", ")
      say(s"($split) ${fact.name}, $columns: $text; ${tested.usableCount} scans")
      Some((split, tested.usableCount.toDouble * data.generatedFile(fact.name).length, numbers))
    }
  }

  private def sampled(fact: FactTable, names: Seq[String]): SimulatedTable = {
    val frame = run.spark.read.parquet(data.generatedFile(fact.name).getPath)
    val share = math.min(1.0, RowsPerFile * files / math.max(1.0, rowsOf(fact).toDouble))
    val types = names.map(n => (n, frame.schema(n).dataType))
    val position = xxhash64(col("_metadata.row_index"))
    val chosen =
      frame.where(position.bitwiseAND(lit((1L << 30) - 1)) < lit((share * (1L << 30)).toLong))
        .select(names.map(col): _*)
    val builders = types.map(t => KeyColumn.newBuilder(t._2))
    chosen.queryExecution.toRdd.map(_.copy()).collect().foreach { row =>
      types.indices.foreach(c =>
        builders(c).add(if (row.isNullAt(c)) null else row.get(c, types(c)._2)))
    }
    new SimulatedTable(
      types.toIndexedSeq,
      FolderSample(builders.map(_.result()).toIndexedSeq),
      files)
  }

  private val counts = scala.collection.mutable.HashMap.empty[String, Long]
  private def rowsOf(fact: FactTable): Long = counts.getOrElseUpdate(
    fact.name,
    run.spark.read.parquet(data.generatedFile(fact.name).getPath).count())
}
