// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.kernels

import java.util.concurrent.TimeUnit

import org.openjdk.jmh.annotations._
import org.openjdk.jmh.infra.Blackhole

import org.apache.spark.sql.delta.expressions.DeltaInterleave

import io.sparkzorder.bits.ZValues

/**
 * The range ids of four columns to a Z-value: ours is a BIGINT by tables of spread ids, one entry a
 * slot, as `ZCurve` has them; Delta's is a BINARY by bits.
 */
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@OperationsPerInvocation(Rows.Count)
@State(Scope.Benchmark)
class ZValue {
  private final val Columns = 4
  // 1023 bounds have 2047 slots
  private val slots = Rows.ints(Columns, 11)
  private val ids = Rows.ints(Columns, 10)
  private val parts =
    Array.tabulate(Columns, 2048)((c, slot) => ZValues.part(slot << 4, c, Columns))

  @Benchmark def ours(sink: Blackhole): Unit = {
    var i = 0
    while (i < Rows.Count) {
      val row = slots(i)
      sink.consume(parts(0)(row(0)) | parts(1)(row(1)) | parts(2)(row(2)) | parts(3)(row(3)))
      i += 1
    }
  }

  @Benchmark def delta(sink: Blackhole): Unit = {
    var i = 0
    while (i < Rows.Count) {
      sink.consume(DeltaInterleave.byDefault(ids(i)))
      i += 1
    }
  }

  @Benchmark def deltaFast(sink: Blackhole): Unit = {
    var i = 0
    while (i < Rows.Count) {
      sink.consume(DeltaInterleave.fast(ids(i)))
      i += 1
    }
  }
}
