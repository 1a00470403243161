// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.kernels

import java.util.concurrent.TimeUnit

import org.openjdk.jmh.annotations._
import org.openjdk.jmh.infra.Blackhole

import org.apache.spark.sql.delta.expressions.DeltaInterleave

import io.sparkzorder.bits.BitInterleaver

/** `interleave_bits` of INT columns: the same bytes by our kernel and by Delta's. */
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@OperationsPerInvocation(Rows.Count)
@State(Scope.Benchmark)
class InterleaveBits {
  @Param(Array("2", "4", "8")) var columns: Int = _

  private var rows: Array[Array[Int]] = _
  private var interleaver: BitInterleaver = _

  @Setup def prepare(): Unit = {
    rows = Rows.ints(columns, 32)
    interleaver = new BitInterleaver(columns)
    require(
      rows.forall(row => java.util.Arrays.equals(interleaved(row), DeltaInterleave.fast(row))),
      "the two kernels must give the same bytes")
  }

  private def interleaved(row: Array[Int]): Array[Byte] = {
    var c = 0
    while (c < row.length) {
      interleaver.set(c, row(c).toLong << 32, 4)
      c += 1
    }
    interleaver.result()
  }

  @Benchmark def ours(sink: Blackhole): Unit = {
    var i = 0
    while (i < Rows.Count) {
      sink.consume(interleaved(rows(i)))
      i += 1
    }
  }

  @Benchmark def delta(sink: Blackhole): Unit = {
    var i = 0
    while (i < Rows.Count) {
      sink.consume(DeltaInterleave.byDefault(rows(i)))
      i += 1
    }
  }

  @Benchmark def deltaFast(sink: Blackhole): Unit = {
    var i = 0
    while (i < Rows.Count) {
      sink.consume(DeltaInterleave.fast(rows(i)))
      i += 1
    }
  }
}
