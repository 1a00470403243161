package io.sparkzorder.bits

/**
 * Search in sorted values of any width by an ordered long first, as the first eight bytes of a byte
 * string; only bounds that share it are compared in full, by the caller.
 *
 * @param prefixes the bounds' ordered prefixes, ascending, equal neighbours where bounds share one
 */
final class PrefixedBounds(prefixes: Array[Long]) extends Serializable {

  private val first = new GuidedBounds(prefixes)

  private val runEnds: Array[Int] = {
    val ends = new Array[Int](prefixes.length)
    var i = prefixes.length - 1
    while (i >= 0) {
      val sharesNext = i + 1 < prefixes.length && prefixes(i + 1) == prefixes(i)
      ends(i) = if (sharesNext) ends(i + 1) else i + 1
      i -= 1
    }
    ends
  }

  def length: Int = prefixes.length

  /** The number of bounds whose prefix is below `prefix`. */
  def runStart(prefix: Long): Int = first.lowerBound(prefix)

  /** The end of the run of bounds with this very prefix that starts at `runStart`; empty runs end there. */
  def runEnd(runStart: Int, prefix: Long): Int =
    if (runStart < prefixes.length && prefixes(runStart) == prefix) runEnds(runStart) else runStart
}
