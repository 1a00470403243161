// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.values

import java.util.{Arrays, Locale}

import io.sparkzorder.index.ByteValues

/**
 * Finds the texts for which UPPER or LOWER has a wanted result. UPPER and LOWER change each plain (ASCII)
 * character by itself to one plain character. So the plain characters before the first other character of a
 * text become the beginning of the result. If all wanted results begin with the same plain characters, then
 * a text with a wanted result begins with one of the spellings of these characters, or has a character that is not
 * plain before their end. For example, a text with `upper(c) LIKE 'AB%'` begins with `ab`, `aB`, `Ab` or `AB`, or has
 * a character such as `ß` among the first two.
 */
private[values] final class ChangedCase(isUpper: Boolean) extends ChangedText {
  import ChangedCase._

  override protected def texts(results: ByteIntervals): Intervals = {
    val few = results.coarser.ranges
    val letters = (1 to MaxLetters).takeWhile(n => few.size << (n + 1) <= MaxSpellings).size
    Intervals.union(few.map { case (low, high) => spelled(low, high, letters) })
  }

  private def spelled(low: ByteEnd, high: ByteEnd, letters: Int): ByteIntervals = {
    val (shared, isWhole) = sharedBy(low, high)
    // each beginning becomes an interval, so a long constant counts by its beginning
    val known = beforeLetter(shared, letters).take(MaxKnown)
    val isAll = known.length == shared.length
    // Texts in which a character that is not plain follows any number of the shared characters. In some languages
    // such a character can vanish from the result, so it may also follow all shared characters.
    val beginnings = (0 to known.length).flatMap(n => spellings(known.take(n)))
    val others = beginnings.map(b => (ByteEnd(b :+ 0x80.toByte, inclusive = true), after(b)))
    def only(text: Array[Byte]) =
      (ByteEnd(text, inclusive = true), ByteEnd(text, inclusive = true))
    Intervals.ofByteRanges(others ++ spellings(known).flatMap { text =>
      if (isAll && isWhole) Seq(only(text))
      else if (!isAll) Seq((ByteEnd(text, inclusive = true), after(text)))
      else {
        only(text) +: next(low, high, known.length).map { case (from, until) =>
          (ByteEnd(text :+ from, inclusive = true), after(text :+ until))
        }
      }
    })
  }

  /**
   * The ranges of the plain characters that a text can have at position `at`. Before this position, all results
   * between `low` and `high` have the same characters.
   */
  private def next(low: ByteEnd, high: ByteEnd, at: Int): Seq[(Byte, Byte)] = {
    val isPrefix = !low.isEndless && at == low.value.length && sameEnd(after(low.value), high)
    val least = if (low.isEndless || at >= low.value.length) 0 else plain(low.value(at))
    val most =
      if (high.isEndless || isPrefix || at >= high.value.length) 127 else plain(high.value(at))
    val found = (0 to 127).filter { b =>
      val result = if (isLetter(b.toByte)) { if (isUpper) b & ~0x20 else b | 0x20 }
      else b
      least <= result && result <= most
    }
    found.foldLeft(List.empty[(Byte, Byte)]) {
      case ((from, until) :: rest, b) if until + 1 == b => (from, b.toByte) :: rest
      case (all, b) => (b.toByte, b.toByte) :: all
    }
  }

  private def plain(b: Byte): Int = if (b < 0) 127 else b.toInt

  private def after(prefix: Array[Byte]): ByteEnd = Intervals.rangeOfPrefix(prefix)._2

  /**
   * The plain characters with which all results of an interval begin. The second value is true if these characters
   * are the only result of the interval.
   */
  private def sharedBy(low: ByteEnd, high: ByteEnd): (Array[Byte], Boolean) =
    if (low.isEndless) (Array.empty[Byte], false)
    else {
      val shared =
        if (sameEnd(after(low.value), high)) low.value
        else if (high.isEndless) Array.empty[Byte]
        else low.value.take(ByteValues.shared(low.value, high.value))
      val plain = shared.takeWhile(_ >= 0)
      val isOne = !high.isEndless && high.inclusive && Arrays.equals(low.value, high.value)
      (plain, isOne && plain.length == low.value.length)
    }

  private def sameEnd(a: ByteEnd, b: ByteEnd): Boolean =
    if (a.isEndless || b.isEndless) a.isEndless && b.isEndless
    else a.inclusive == b.inclusive && Arrays.equals(a.value, b.value)

  /** The longest beginning of a text that has at most `letters` letters. */
  private def beforeLetter(text: Array[Byte], letters: Int): Array[Byte] = {
    var seen = 0
    text.takeWhile { b =>
      if (isLetter(b)) seen += 1
      seen <= letters
    }
  }

  private def isLetter(b: Byte): Boolean = b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'

  private def spellings(text: Array[Byte]): Seq[Array[Byte]] =
    text.foldLeft(Seq(Array.empty[Byte])) { (found, b) =>
      val same = if (isLetter(b)) Seq(b, (b ^ 0x20).toByte) else Seq(b)
      for (f <- found; s <- same) yield f :+ s
    }
}

private[values] object ChangedCase {

  /**
   * True if the language of the JVM changes the case of `i` and `I` as that of other plain letters. Spark changes a
   * text with other characters than plain ones by the rules of this language. In Turkish, for example, the upper
   * case of `i` is `İ`. Only the language of the driver is known here, and the executors must have the same.
   */
  def isPlain: Boolean = !Set("tr", "az", "lt")(Locale.getDefault.getLanguage)

  /** The greatest number of spellings of all results together. */
  private val MaxSpellings = 4096

  /** The greatest number of letters whose spellings are listed. Each letter doubles the number of spellings. */
  private val MaxLetters = 6

  /** The greatest number of characters of a constant whose beginnings are intervals of their own. */
  private val MaxKnown = 64
}
