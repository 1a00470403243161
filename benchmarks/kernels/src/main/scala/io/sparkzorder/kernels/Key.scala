// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.kernels

import java.util.concurrent.TimeUnit

import org.openjdk.jmh.annotations._
import org.openjdk.jmh.infra.Blackhole

import org.apache.spark.sql.types.LongType

import io.sparkzorder.bits.ZValues
import io.sparkzorder.ordering.{ColumnRanks, ZCurve}

/** The whole key of a row of BIGINT columns: a search in 1023 bounds a column, and the Z-value. */
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@OperationsPerInvocation(Rows.Count)
@State(Scope.Benchmark)
class Key {
  @Param(Array("2", "4", "8")) var columns: Int = _

  private var rows: Array[Array[Long]] = _
  private var curve: ZCurve = _

  @Setup def prepare(): Unit = {
    val r = Rows.random()
    rows = Rows.longs(columns)
    val bits = ZValues.bitsPerColumn(columns)
    curve = new ZCurve(Array.fill(columns) {
      val sample = Array.fill[Any](1023)(r.nextLong())
      ColumnRanks.fromSample(LongType, sample, null, 0, sample.length).toRangeIds(1 << bits)
    })
  }

  @Benchmark def ours(sink: Blackhole): Unit = {
    var i = 0
    while (i < Rows.Count) {
      val row = rows(i)
      var z = 0L
      var c = 0
      while (c < row.length) {
        z |= curve.partOfLong(c, row(c))
        c += 1
      }
      sink.consume(z)
      i += 1
    }
  }
}
