// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordering

import org.apache.spark.SparkFunSuite
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, ExpressionEvalHelper, Literal}
import org.apache.spark.sql.catalyst.util.TypeUtils
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.ByteArray

import io.sparkzorder.RandomInputs
import io.sparkzorder.expressions.{
  CountBoundsBelow,
  OrderedBits,
  RangeIdBySample,
  ZOrderByValue,
  ZValueBySample
}
import io.sparkzorder.expressions.sampling.SampledRanks

/** For every type: ordered bits, range ids and bounds agree with Spark's own order. */
class OrderPropertySuite extends SparkFunSuite with ExpressionEvalHelper with RandomInputs {

  private def isText(dataType: DataType) = dataType == StringType || dataType == BinaryType

  for (dataType <- ValuesOfTypes.types) {
    test(s"ordered bits of ${dataType.sql}, every pair") {
      withRandom { random =>
        val values = ValuesOfTypes.values(dataType, random)
        val bits = values.map(OrderedBits.of(dataType, _, 64))
        val order = TypeUtils.getInterpretedOrdering(dataType)
        for ((a, x) <- values.zip(bits); (b, y) <- values.zip(bits)) {
          val expected = math.signum(order.compare(a, b))
          val found = math.signum(ByteArray.compareBinary(x, y))
          // "a" and "a\u0000" have the same padded bytes
          val same = expected == found || (isText(dataType) && found == 0 && x.last == 0)
          assert(same, s"$a ? $b: Spark $expected, bits $found")
        }
        assert(bits.map(_.length).distinct.size === 1)
      }
    }

    test(s"range ids and bounds of ${dataType.sql}") {
      withRandom { random =>
        val all = ValuesOfTypes.values(dataType, random)
        val order = TypeUtils.getInterpretedOrdering(dataType)
        val (sample, others) = random.shuffle(all).splitAt(all.length / 2)
        val ids = RangeIds.fromSample(dataType, sample.toArray, null, 0, 16, 4096)
        val sorted = (sample ++ others).sorted(order)
        assert(sorted.map(ids.idOf).sliding(2).forall(p => p.head <= p.last))
        val mids = sample.map(v =>
          v -> (sample.count(order.lt(_, v)) +
            sample.count(order.equiv(_, v)) / 2.0) / sample.length)
        mids.foreach { case (v, mid) => assert(ids.idOf(v) === math.floor(65536 * mid).toInt) }
        val bounds = sample.sorted(order)
        val index = BoundsIndex.ofSorted(dataType, bounds.toArray)
        sorted.foreach(v => assert(index.slotOf(v) >> 1 === bounds.count(order.lt(_, v)), v))
      }
    }

    test(s"interpreted, generated and folded agree for ${dataType.sql}") {
      withRandom { random =>
        val values = random.shuffle(ValuesOfTypes.values(dataType, random)).take(5) :+ null
        val sample = ValuesOfTypes.values(dataType, random).toArray
        val ids = RangeIds.fromSample(dataType, sample, null, 1, 16, 64)
        val ranks = ColumnRanks.fromSample(dataType, sample, null, 1, 64)
        val encoded = Literal(SampledRanks.encode(Seq(ranks, ranks)), BinaryType)
        val ref = BoundReference(0, dataType, nullable = true)
        for (v <- values) {
          val row = InternalRow(v)
          val bits = OrderedBits.of(dataType, v)
          checkEvaluation(new OrderedBits(ref), bits, row)
          checkEvaluation(ZOrderByValue(Seq(ref)), bits, row)
          checkEvaluation(new OrderedBits(Literal(v, dataType)), bits)
          checkEvaluation(
            CountBoundsBelow(ref, ids.bounds),
            if (v == null) 0 else ids.bounds.slotOf(v) >> 1,
            row)
          checkEvaluation(ZValueBySample(Seq(ref), encoded, Seq(1)), ids.idOf(v).toLong, row)
          checkEvaluation(RangeIdBySample(ref, 1 << 16, encoded, 0), ids.idOf(v), row)
        }
      }
    }
  }
}
