package io.sparkzorder.bits

/**
 * Spreads the bits of a byte apart, so that bits of several columns can be laid between each other.
 *
 * A table for the stride `s` holds, for each byte, the long in which the byte's bit `k` stands at bit
 * `k * s`. Eight tables of 256 longs (2 KB each, so the one in use stays in the first-level cache)
 * serve every number of columns: more than eight are taken in groups of eight.
 */
object BitSpread {

  /** The largest stride at which a byte's eight bits still fit a long. */
  val MaxStride = 8

  private val tables: Array[Array[Long]] =
    Array.tabulate(MaxStride + 1)(stride => Array.tabulate(256)(spreadByte(_, stride)))

  /** @param stride 1 to 8 */
  def table(stride: Int): Array[Long] = tables(stride)

  /**
   * Spreads the low `bits` bits of a value: bit `k` moves to bit `k * stride`.
   *
   * @param value non-negative
   * @param bits the bits to move; `(bits - 1) * stride` is at most 63
   */
  def spread(value: Int, bits: Int, stride: Int): Long = {
    var z = 0L
    var k = 0
    while (k < bits) {
      z |= ((value >>> k) & 1L) << (k * stride)
      k += 1
    }
    z
  }

  private def spreadByte(byte: Int, stride: Int): Long = spread(byte, 8, stride)
}
