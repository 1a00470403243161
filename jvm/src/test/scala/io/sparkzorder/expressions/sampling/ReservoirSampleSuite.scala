// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.expressions.sampling

import org.apache.spark.SparkFunSuite
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.{DataType, LongType, StringType}
import org.apache.spark.unsafe.types.UTF8String

/** The sample of one task, and the joined sample of many tasks. */
class ReservoirSampleSuite extends SparkFunSuite {
  import ReservoirSample.{MergedRows, TaskRows}

  private val toUnsafe = UnsafeProjection.create(Array[DataType](LongType))

  private def row(v: Long): UnsafeRow = toUnsafe(new GenericInternalRow(Array[Any](v))).copy()

  private def drawn(values: Range, seed: Long = 1): ReservoirSample = {
    val sample = new ReservoirSample(1, seed)
    values.foreach(v => if (sample.wantsNext()) sample.put(row(v.toLong)))
    sample
  }

  private def content(sample: ReservoirSample): Seq[(Long, Double)] = {
    val all = Seq.newBuilder[(Long, Double)]
    sample.foreach((r, w) => all += r.getLong(0) -> w)
    all.result()
  }

  test("few rows are all kept, each for itself") {
    assert(content(drawn(0 until 5)) === (0 until 5).map(v => (v.toLong, 1.0)))
    assert(content(drawn(0 until 0)) === Nil)
    assert(content(drawn(0 until TaskRows)).size === TaskRows)
  }

  test("of many rows a fixed number is kept, evenly, and together they stand for all") {
    val n = 20 * TaskRows
    val sample = content(drawn(0 until n))
    assert(sample.size === TaskRows && sample.map(_._1).distinct.size === TaskRows)
    assert(math.abs(sample.map(_._2).sum - n) < 1e-3)
    // each tenth of the input contributes a tenth of the sample, within five standard deviations
    val tenths = sample.groupBy(_._1 * 10 / n).map { case (t, rows) => t -> rows.size }
    (0L to 9L).foreach(t => assert(math.abs(tenths(t) - TaskRows / 10) < 150, tenths))
  }

  test("each of many tasks keeps fewer rows, and its sample stands for as many") {
    assert(Seq(1, 20, 200, 1000, 100000).map(ReservoirSample.rowsOf) ===
      Seq(TaskRows, TaskRows, 1000, 1000, 1000))
    val sample = new ReservoirSample(1, 1, most = 200)
    for (v <- 0 until 5000 if sample.wantsNext()) sample.put(row(v.toLong))
    assert(sample.size === 200)
    assert(math.abs(content(sample).map(_._2).sum - 5000) < 1e-6)
    assert(math.abs(content(sample).map(_._1).sum / 200.0 - 2500) < 500)
  }

  test("the same seed draws the same rows, another one others") {
    val n = 3 * TaskRows
    assert(content(drawn(0 until n)) === content(drawn(0 until n)))
    assert(content(drawn(0 until n)) !== content(drawn(0 until n, seed = 2)))
  }

  test("bytes and back") {
    val sample = drawn(0 until 2 * TaskRows)
    assert(content(ReservoirSample.fromBytes(1, 1, sample.toBytes)) === content(sample))
  }

  test("samples of many tasks are thinned by weight") {
    val all = new ReservoirSample(1, 1)
    // thirty tasks; the later ones have more rows than a task keeps
    val counts = (0 until 30).map(t => if (t < 15) TaskRows / 2 else 3 * TaskRows)
    val starts = counts.scanLeft(0)(_ + _)
    counts.zip(starts).foreach { case (n, start) => all.join(drawn(start until start + n, start)) }
    assert(all.size <= 2 * MergedRows)
    val total = counts.sum
    val sample = content(all)
    assert(math.abs(sample.map(_._2).sum - total) < total * 0.001)
    val tenths = sample.groupBy(_._1 * 10 / total).map { case (t, rows) => t -> rows.map(_._2).sum }
    (0L to 9L).foreach(t => assert(math.abs(tenths(t) / total - 0.1) < 0.005, tenths))
  }

  test("ranks survive their bytes; long strings are kept to their first bytes") {
    val texts = Seq("x" * 1000, "a", "b").map(UTF8String.fromString)
    val keys =
      SampleAggregate(Seq(org.apache.spark.sql.catalyst.expressions.BoundReference(
        0,
        StringType,
        true)))
    val buffer = texts.foldLeft(keys.createAggregationBuffer()) { (b, t) =>
      keys.update(b, new GenericInternalRow(Array[Any](t)))
    }
    val bytes = keys.eval(keys.deserialize(keys.serialize(buffer))).asInstanceOf[Array[Byte]]
    assert(bytes.length < 600)
    val ids = SampledRanks.decode(bytes, 0, StringType).toRangeIds(6)
    assert(Seq("a", "b").map(t => ids.idOf(UTF8String.fromString(t))) === Seq(1, 3))
    assert(ids.idOf(texts.head) === 5)
  }
}
