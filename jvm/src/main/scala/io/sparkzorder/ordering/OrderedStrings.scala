package io.sparkzorder.ordering

import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

/** Ordered bits of Spark's strings, which may lie anywhere in memory. */
object OrderedStrings {

  /** The first `bytes` bytes of a string, zero-padded on the right; allocates nothing else. */
  def padded(value: UTF8String, bytes: Int): Array[Byte] = {
    val out = new Array[Byte](bytes)
    val length = math.min(bytes, value.numBytes)
    Platform.copyMemory(
      value.getBaseObject,
      value.getBaseOffset,
      out,
      Platform.BYTE_ARRAY_OFFSET.toLong,
      length.toLong)
    out
  }
}
