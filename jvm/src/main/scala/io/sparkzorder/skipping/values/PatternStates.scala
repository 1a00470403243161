// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.values

import scala.collection.immutable.BitSet
import scala.collection.mutable
import scala.util.Try

/**
 * What a LIKE pattern or a regular expression requires of the characters of a text, from the first character on. The
 * places in the pattern are the states of an automaton, which may be in several states at once. Only plain characters
 * are read: ASCII without NUL and DEL ([[TextStart.isPlain]]). Where the pattern accepts another character, each text
 * that has such a character at that place counts as a match.
 *
 * @param states the states by their numbers
 */
private[values] final class PatternStates private (states: IndexedSeq[PatternStates.State]) {
  import PatternStates._

  /** The states before the first character. */
  val start: BitSet = closed(BitSet(0))

  /** The states after one more plain character. */
  private def after(at: BitSet, c: Char): BitSet = closed(at.flatMap { i =>
    states(i) match {
      case One(plain, _, next) if plain(c.toInt) => BitSet(next)
      case _ => BitSet.empty
    }
  })

  /** The plain characters that may come next. */
  def next(at: BitSet): BitSet = at.flatMap { i =>
    states(i) match {
      case One(plain, _, _) => plain
      case _ => BitSet.empty
    }
  }

  // many texts lead to the same states
  private val following = mutable.HashMap.empty[BitSet, Seq[(Char, BitSet)]]

  /** Each plain character that may come next, with the states after it. Not safe for threads. */
  def steps(at: BitSet): Seq[(Char, BitSet)] =
    following.getOrElseUpdate(at, next(at).toSeq.map(c => c.toChar -> after(at, c.toChar)))

  /** True if another character than a plain one may come next. */
  def mayLeavePlain(at: BitSet): Boolean = at.exists { i =>
    states(i) match {
      case One(_, others, _) => others
      case _ => false
    }
  }

  /** True if the text read so far matches the whole pattern. */
  def isDone(at: BitSet): Boolean = at.exists(states(_) == Done)

  /** True if the pattern may ask for the end of the text here, or for a line terminator before the end. */
  def mayEnd(at: BitSet): Boolean = at.exists(states(_) == End)

  /** True if any text may follow, as far as is known. */
  def isOpen(at: BitSet): Boolean = at.exists(states(_) == Open)

  /** The plain characters with which a match may begin; None if they are not known, or if a match may be empty. */
  def first: Option[BitSet] =
    if (isOpen(start) || isDone(start) || mayEnd(start)) None else Some(next(start))

  /** The given states, and those that are reached from them without a character. */
  private def closed(at: BitSet): BitSet = {
    val found = mutable.BitSet.empty
    var open = at.toList
    while (open.nonEmpty) {
      val i = open.head
      open = open.tail
      if (found.add(i)) states(i) match {
        case OneOf(some) => open = some.toList ++ open
        case _ =>
      }
    }
    BitSet.fromBitMask(found.toBitMask)
  }
}

private[values] object PatternStates {
  sealed trait State

  /**
   * One character.
   *
   * @param plain the plain characters that are accepted
   * @param others whether other characters are accepted
   * @param next the state after the character
   */
  final case class One(plain: BitSet, others: Boolean, next: Int) extends State

  /** Stands for all of `states` at once. No character is read. */
  final case class OneOf(states: Seq[Int]) extends State

  /** The end of the text, or a line terminator before it. */
  case object End extends State

  /** The end of the pattern. */
  case object Done extends State

  /** A part of which nothing is known. */
  case object Open extends State

  /** The states of a regular expression that can match only at the beginning of a text. */
  def ofRegex(pattern: String): Option[PatternStates] =
    read(pattern)(_.alternatives(isTop = true)).map(states)

  /** The states of a regular expression that can match anywhere in a text, from the beginning of the match on. */
  def anywhere(pattern: String): Option[PatternStates] =
    read(pattern)(_.alternatives(isTop = false)).map(states)

  /**
   * The states of the parts of a regular expression before a group. Nothing stands before group 0, the whole match.
   * None if the pattern cannot be read, or may match elsewhere than at the beginning of the text. For a group of a
   * greater number, also None in each of these cases: the pattern has alternatives outside of groups; the group is
   * repeated; the group lies in another group; the group is missing.
   */
  def beforeGroup(pattern: String, group: Int): Option[PatternStates] =
    if (group == 0) ofRegex(pattern).map(_ => states(Together(Nil)))
    else read(pattern)(_.sequenceAtBeginning()).flatMap { parts =>
      val at = parts.indexWhere { case (_, number) => number == group }
      if (group < 1 || at < 0) None else Some(states(Together(parts.take(at).map(_._1))))
    }

  /** The states of a LIKE pattern; None for a pattern that Spark rejects, or that is too long. */
  def ofLike(pattern: String, escape: Char): Option[PatternStates] =
    LikePattern.characters(pattern, escape).filter(_ => pattern.length <= MaxStates).map { all =>
      states(Together(all.map {
        case ('%', true) => Vague
        case (_, true) => AnyCharacter
        case (c, _) => letter(c.toInt)
      }))
    }

  private def read[T](pattern: String)(by: PatternReader => T): Option[T] =
    if (pattern.length > MaxStates) None
    else {
      val reader = new PatternReader(pattern)
      Try(by(reader)).toOption.filter(_ => reader.isAtEnd)
    }

  // ---- parts of a pattern

  sealed trait Part
  final case class Characters(plain: BitSet, others: Boolean) extends Part
  final case class Together(parts: Seq[Part]) extends Part
  final case class Alternatives(parts: Seq[Part]) extends Part

  /** @param most None without a limit */
  final case class Repeated(part: Part, least: Int, most: Option[Int]) extends Part

  case object TextEnd extends Part

  /** A part of which nothing is known. */
  case object Vague extends Part

  private val Plain = BitSet(1 until 127: _*)
  val AnyCharacter: Characters = Characters(Plain, others = true)

  def letter(codePoint: Int): Characters =
    if (TextStart.isPlain(codePoint)) Characters(BitSet(codePoint), others = false)
    else Characters(BitSet.empty, others = true)

  /** The characters of a class, such as `[a-c]` or `\d`. The class is taken to have characters that are not plain. */
  def ofClass(text: String): Characters = {
    val compiled = java.util.regex.Pattern.compile(text)
    Characters(Plain.filter(c => compiled.matcher(c.toChar.toString).matches()), others = true)
  }

  /** Nothing is known of a pattern with more states or characters than this. */
  private[values] val MaxStates = 1000

  private def states(part: Part): PatternStates = {
    val made = mutable.ArrayBuffer.empty[State]
    def add(state: State): Int = {
      made += state
      if (made.size > MaxStates) throw TooMany
      made.size - 1
    }
    var calls = 0
    def before(part: Part, next: Int): Int = {
      // a part without characters, such as `()`, makes no states, so `((){999}){999}` is limited by the calls
      calls += 1
      if (calls > 10 * MaxStates) throw TooMany
      stateBefore(part, next)
    }
    def stateBefore(part: Part, next: Int): Int = part match {
      case Characters(plain, others) => add(One(plain, others, next))
      case Together(parts) => parts.foldRight(next)(before)
      case Alternatives(parts) => add(OneOf(parts.map(before(_, next))))
      case TextEnd => add(End)
      case Vague => add(Open)
      // any number of any characters
      case Repeated(AnyCharacter, _, None) => add(Open)
      case Repeated(one, least, most) =>
        val rest = most match {
          case None =>
            val loop = add(Done)
            made(loop) = OneOf(Seq(before(one, loop), next))
            loop
          case Some(n) =>
            (least until n).foldLeft(next)((after, _) => add(OneOf(Seq(before(one, after), next))))
        }
        (0 until least).foldLeft(rest)((after, _) => before(one, after))
    }
    // the start is state 0
    made += Done
    try made(0) = OneOf(Seq(before(part, add(Done))))
    catch { case TooMany => made(0) = Open }
    new PatternStates(made.toIndexedSeq)
  }

  private object TooMany extends Exception {
    override def fillInStackTrace(): Throwable = this
  }
}

/** Reads a regular expression. Raises for a part that is not known and could change the meaning of the rest. */
private[values] final class PatternReader(pattern: String) {
  import PatternStates._

  private var i = 0
  private var groups = 0
  def isAtEnd: Boolean = i == pattern.length
  private def peek(c: Char): Boolean = i < pattern.length && pattern(i) == c
  private def skip(text: String): Boolean = {
    val isThere = pattern.startsWith(text, i)
    if (isThere) i += text.length
    isThere
  }
  private def fail(): Nothing = throw new IllegalArgumentException(pattern)

  /** @param isTop each alternative must begin with an anchor */
  def alternatives(isTop: Boolean): Part = {
    val all = Seq.newBuilder[Part]
    do {
      if (isTop && !skip("^") && !skip("\\A")) fail()
      all += Together(sequence().map(_._1))
    } while (skip("|"))
    all.result() match {
      case Seq(one) => one
      case several => Alternatives(several)
    }
  }

  /** The parts behind the anchor, with numbers. A group without repetition has its own number, another part -1. */
  def sequenceAtBeginning(): Seq[(Part, Int)] =
    if (skip("^") || skip("\\A")) sequence() else fail()

  private def sequence(): Seq[(Part, Int)] = {
    val parts = Seq.newBuilder[(Part, Int)]
    while (i < pattern.length && !peek('|') && !peek(')')) {
      val number = if (peek('(') && !pattern.startsWith("(?", i)) groups + 1 else -1
      val one = atom()
      val part = repeated(one)
      parts += part -> (if (part eq one) number else -1)
    }
    parts.result()
  }

  private def repeated(part: Part): Part = {
    val after =
      if (skip("+")) Repeated(part, 1, None)
      else if (skip("?")) Repeated(part, 0, Some(1))
      else if (skip("*")) Repeated(part, 0, None)
      else if (peek('{')) {
        val count = "\\{([0-9]{1,3})(,([0-9]{1,3})?)?\\}".r.findPrefixMatchOf(pattern.substring(i))
          .getOrElse(fail())
        i += count.end
        val least = count.group(1).toInt
        val most =
          if (count.group(2) == null) Some(least) else Option(count.group(3)).map(_.toInt)
        if (most.exists(_ < least)) fail()
        Repeated(part, least, most)
      } else part
    // lazy and possessive forms
    if (after ne part) { val _ = skip("?") || skip("+") }
    after
  }

  private def atom(): Part = pattern(i) match {
    case '(' =>
      i += 1
      if (peek('?')) { if (!skip("?:")) fail() }
      else groups += 1
      val inside = alternatives(isTop = false)
      if (!skip(")")) fail()
      inside
    case '[' => choice()
    case '.' =>
      i += 1
      AnyCharacter
    case '$' =>
      i += 1
      TextEnd
    case '^' | '*' | '+' | '?' | '{' | '}' | ']' => fail()
    case '\\' => escaped()
    case _ =>
      val c = pattern.codePointAt(i)
      i += Character.charCount(c)
      letter(c)
  }

  private def escaped(): Part = {
    i += 1
    if (i >= pattern.length) fail()
    val c = pattern(i)
    i += 1
    if (c < 128 && !c.isLetterOrDigit) letter(c.toInt)
    else if ("dDsSwW".indexOf(c.toInt) >= 0) ofClass(s"\\$c")
    else if ("bBhHvVrntfezZ".indexOf(c.toInt) >= 0) Vague
    else if ((c == 'p' || c == 'P') && peek('{') && pattern.indexOf('}', i) > 0) {
      val from = i
      i = pattern.indexOf('}', i) + 1
      ofClass(s"\\$c${pattern.substring(from, i)}")
    } else fail()
  }

  /** A class. Raises for a class in a class, and for `&`, which may join classes. */
  private def choice(): Part = {
    val from = i
    i += 1
    val _ = skip("^")
    if (peek(']')) fail()
    while (!peek(']')) {
      if (i >= pattern.length || peek('[') || peek('&')) fail()
      if (peek('\\')) {
        val c = if (i + 1 < pattern.length) pattern(i + 1) else 'Q'
        if (c >= 128 || c.isLetterOrDigit && "dDsSwWhHvVrntfea".indexOf(c.toInt) < 0) fail()
        i += 1
      }
      i += 1
    }
    i += 1
    ofClass(pattern.substring(from, i))
  }
}
