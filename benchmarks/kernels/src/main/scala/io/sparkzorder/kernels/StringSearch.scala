// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.kernels

import java.util.{Arrays, Comparator}
import java.util.concurrent.TimeUnit

import org.openjdk.jmh.annotations._
import org.openjdk.jmh.infra.Blackhole

import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.ordering.StringBounds

/** The range of a STRING among 1023 bounds. */
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@OperationsPerInvocation(Rows.Count)
@State(Scope.Benchmark)
class StringSearch {

  /** Alike: all values begin with the same eight bytes, so that the prefix tells nothing. */
  @Param(Array("random", "alike")) var values: String = _

  private var rows: Array[UTF8String] = _
  private var sorted: Array[UTF8String] = _
  private var bounds: StringBounds = _
  private val order: Comparator[UTF8String] = (a, b) => a.binaryCompare(b)

  @Setup def prepare(): Unit = {
    val r = Rows.random()
    def value(): UTF8String = UTF8String.fromString(
      if (values == "random") Seq.fill(12)((97 + r.nextInt(26)).toChar).mkString
      else f"Customer#${r.nextInt(150000)}%09d")
    sorted = Array.fill(1023)(value()).sortWith(_.binaryCompare(_) < 0)
    rows = Array.fill(Rows.Count)(value())
    bounds = new StringBounds(sorted)
  }

  @Benchmark def ours(sink: Blackhole): Unit = {
    var i = 0
    while (i < Rows.Count) {
      sink.consume(bounds.slot(rows(i)))
      i += 1
    }
  }

  @Benchmark def arrays(sink: Blackhole): Unit = {
    var i = 0
    while (i < Rows.Count) {
      sink.consume(Arrays.binarySearch(sorted, rows(i), order))
      i += 1
    }
  }
}
