// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.kernels

import java.util.Arrays
import java.util.concurrent.TimeUnit

import org.openjdk.jmh.annotations._
import org.openjdk.jmh.infra.Blackhole

import io.sparkzorder.bits.GuidedBounds

/** The range of a BIGINT among 1023 bounds. */
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@OperationsPerInvocation(Rows.Count)
@State(Scope.Benchmark)
class LongSearch {

  /** Skewed: half of the values have 63 bits, a quarter 62, and so on: small ones share a bucket. */
  @Param(Array("uniform", "skewed")) var values: String = _

  private var rows: Array[Long] = _
  private var sorted: Array[Long] = _
  private var guided: GuidedBounds = _

  @Setup def prepare(): Unit = {
    val r = Rows.random()
    def value(): Long =
      if (values == "uniform") r.nextLong()
      else (r.nextLong() >>> 1) >>> java.lang.Long.numberOfTrailingZeros(r.nextLong())
    sorted = Array.fill(1023)(value()).sorted
    rows = Array.fill(Rows.Count)(value())
    guided = new GuidedBounds(sorted)
  }

  @Benchmark def ours(sink: Blackhole): Unit = {
    var i = 0
    while (i < Rows.Count) {
      sink.consume(guided.lowerBound(rows(i)))
      i += 1
    }
  }

  @Benchmark def arrays(sink: Blackhole): Unit = {
    var i = 0
    while (i < Rows.Count) {
      sink.consume(Arrays.binarySearch(sorted, rows(i)))
      i += 1
    }
  }
}
