// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.kernels

import java.util.concurrent.TimeUnit

import org.openjdk.jmh.annotations._
import org.openjdk.jmh.infra.Blackhole

import org.apache.spark.sql.delta.expressions.DeltaHilbert

import io.sparkzorder.bits.{HilbertCurve, ZValues}

/**
 * The Hilbert index: ours of a Z-value, whose making is measured by [[ZValue]] and [[Key]]; Skilling's
 * and Delta's of the coordinates. All have the bits that `hilbert` gives a column.
 */
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@OperationsPerInvocation(Rows.Count)
@State(Scope.Benchmark)
class HilbertOfRow {
  @Param(Array("2", "3", "4", "9")) var columns: Int = _

  private var bits: Int = _
  private var points: Array[Array[Int]] = _
  private var zValues: Array[Long] = _
  private var curve: HilbertCurve = _
  private var skillings: Skilling = _
  private var deltas: DeltaHilbert = _

  @Setup def prepare(): Unit = {
    bits = ZValues.bitsPerColumn(columns)
    points = Rows.ints(columns, bits)
    zValues = points.map(ZValues.interleave)
    curve = HilbertCurve.of(columns)
    skillings = new Skilling(columns, bits)
    deltas = new DeltaHilbert(columns)
  }

  @Benchmark def ours(sink: Blackhole): Unit = {
    var i = 0
    while (i < Rows.Count) {
      sink.consume(curve.index(zValues(i)))
      i += 1
    }
  }

  @Benchmark def skilling(sink: Blackhole): Unit = {
    var i = 0
    while (i < Rows.Count) {
      sink.consume(skillings.index(points(i)))
      i += 1
    }
  }

  @Benchmark def delta(sink: Blackhole): Unit = {
    var i = 0
    while (i < Rows.Count) {
      sink.consume(deltas.index(points(i), bits))
      i += 1
    }
  }
}
