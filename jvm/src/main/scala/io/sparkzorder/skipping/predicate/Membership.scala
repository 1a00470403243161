// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.MapData
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * Conditions that follow from a predicate that compares a value with a list other than by IN, such as
 * `array_contains(array(1, 2), a)`.
 *
 * @param ifTrue a condition that is true for each row for which the predicate is true; None if nothing is
 *   known
 * @param ifFalse a condition that is true for each row for which the predicate is false
 */
private[predicate] final case class Membership(
    ifTrue: Option[Expression],
    ifFalse: Option[Expression])

private[predicate] object Membership {

  /**
   * The greatest number of values or conditions that are computed from a constant. A list is not limited if `IN` takes
   * it as it is, as for `array_contains`.
   */
  private val MostElements = 2000

  def of(e: Expression): Option[Membership] =
    try {
      equivalent(e).map(p => Membership(Some(p), if (isExact(e)) Some(Not(p)) else None))
        .orElse(pattern(e)).orElse(SparseFunction.in(e))
    } catch { case NonFatal(_) => None }

  /**
   * True if the equivalent predicate is also false for the same rows. For Spark, `arrays_overlap` of 0.0
   * and -0.0 is false although the two are equal. So `NOT arrays_overlap(array(c), array(-0.0))` is true where `c`
   * is 0.0, and `NOT c IN (-0.0)` would wrongly skip these rows.
   */
  private def isExact(e: Expression): Boolean = e match {
    case ArraysOverlap(ArrayOf(FloatType | DoubleType), _) => false
    case _ => true
  }

  private object ArrayOf {
    def unapply(e: Expression): Option[DataType] = Some(e.dataType).collect {
      case ArrayType(element, _) => element
    }
  }

  /**
   * A LIKE that searches a constant for a value, as in `'|a|b|' LIKE concat('%|', c, '|%')`. The value `c` may
   * have wildcards, too.
   */
  private def pattern(e: Expression): Option[Membership] = e match {
    case l @ Like(Text(text), Parts(before, value, after), _)
        if value.dataType == StringType && (text + before + after).forall(_ < 128) =>
      val wildcards = s"%_${l.escapeChar}"
      val (start, end) = (before.stripPrefix("%"), after.stripSuffix("%"))
      val places = 0 to text.length
      val from = places.filter(text.startsWith(start, _)).map(_ + start.length)
        .filter(at => start != before || at == start.length)
      val until = places.filter(text.startsWith(end, _))
        .filter(at => end != after || at + end.length == text.length)
      // With an empty `end`, each pair of a beginning and an end makes a value. Else only few pairs do: those whose
      // end is before `e`. So more pairs may be tried.
      val isLong = from.size.toLong * until.size > (if (end.isEmpty) 2L else 500L) * MostElements
      if (isLong || (start + end).exists(wildcards.indexOf(_) >= 0)) None
      else {
        // `f` is a place where the value may begin in the text. The first `end` at or after `f` is the text from `u` to
        // `e`. Of the values without a wildcard, a value that ends before `e` is one of `values`. Any other one begins
        // with the text from `f` to `e`, which is the last of `beginnings` for this `f`.
        val found = from.flatMap(f => until.find(_ >= f).map(u => (f, u, u + end.length)))
        val longest = if (end.isEmpty) text.length else 0
        val beginnings = found.iterator.flatMap { case (f, _, e) =>
          // before its first wildcard, a value has the characters of the text from `f` on
          (f to math.max(e, longest)).flatMap(k => wildcards.map(text.substring(f, k) + _)) ++
            (if (end.isEmpty) Nil else Seq(text.substring(f, e)))
        }.take(10 * MostElements).toList
        val values =
          for ((f, u, e) <- found; at <- until if at >= u && (end.isEmpty || at < e))
            yield text.substring(f, at)
        val all = (beginnings.distinct, values.distinct)
        if (beginnings.size == 10 * MostElements || all._1.size + all._2.size > MostElements) None
        else {
          val literal = in(value, all._2.map(UTF8String.fromString), StringType)
          any(literal +: all._1.map(b => StartsWith(value, Literal(b))))
            .map(p => Membership(Some(p), None))
        }
      }
    case _ => None
  }

  /** A text between constant texts. */
  private object Parts {
    def unapply(e: Expression): Option[(String, Expression, String)] = e match {
      case Concat(children) if children.count(!_.foldable) == 1 =>
        val (before, value +: after) = children.span(_.foldable): @unchecked
        for (a <- joined(before); b <- joined(after)) yield (a, value, b)
      case other => if (other.foldable) None else Some(("", other, ""))
    }
  }

  private def joined(texts: Seq[Expression]): Option[String] =
    texts.foldLeft(Option("")) {
      case (Some(all), Text(next)) => Some(all + next)
      case _ => None
    }

  /** A predicate that is TRUE, FALSE or NULL for the same rows. */
  private def equivalent(e: Expression): Option[Expression] = e match {
    case ArrayContains(Folded.Elements(list, t), value) => Some(in(value, list, t))
    case ArrayContains(CreateArray(values, _), value) =>
      any(values.map(EqualTo(_, value)))
    case ArraysOverlap(CreateArray(values, _), Folded.Elements(list, t)) if list.nonEmpty =>
      any(values.map(in(_, list, t)))
    case ArraysOverlap(Folded.Elements(list, t), CreateArray(values, _)) if list.nonEmpty =>
      any(values.map(in(_, list, t)))
    case ArrayExists(Folded.Elements(list, t), lambda, true) => calls(lambda, list, t).flatMap(any)
    case ArrayForAll(Folded.Elements(list, t), lambda) =>
      calls(lambda, list, t).flatMap(_.reduceOption(And))
    case ArrayAggregate(Folded.Elements(list, t), zero, merge, finish) =>
      aggregated(list, t, zero, merge, finish)
    case _ => None
  }

  /** `value IN (list)`, also for a list without elements, which contains no value. */
  private[predicate] def in(value: Expression, list: Seq[Any], t: DataType): Expression =
    if (list.isEmpty) If(IsNull(value), Literal(null, BooleanType), Literal(false))
    else In(value, list.map(Literal(_, t)))

  private[predicate] def any(predicates: Seq[Expression]): Option[Expression] =
    predicates.reduceOption(Or)

  /** The predicate of a lambda, for each element of a list. */
  private[predicate] def calls(
      lambda: Expression,
      list: Seq[Any],
      t: DataType): Option[Seq[Expression]] = lambda match {
    case LambdaFunction(body, (element: NamedLambdaVariable) +: position, _)
        if list.size <= MostElements =>
      Some(list.zipWithIndex.map { case (value, i) =>
        Folded.parts(body.transform {
          case v: NamedLambdaVariable if v.exprId == element.exprId => Literal(value, t)
          case v: NamedLambdaVariable if position.exists(_.exprId == v.exprId) => Literal(i)
        })
      })
    case _ => None
  }

  /** The result of `aggregate` as nested calls of its lambdas. */
  private def aggregated(
      list: Seq[Any],
      t: DataType,
      zero: Expression,
      merge: Expression,
      finish: Expression): Option[Expression] = (merge, finish) match {
    case (
          LambdaFunction(step, Seq(so: NamedLambdaVariable, element: NamedLambdaVariable), _),
          LambdaFunction(last, Seq(all: NamedLambdaVariable), _))
        if list.size <= MostCalls && isOnce(so, step) && isOnce(all, last) =>
      def replaced(body: Expression, by: (NamedLambdaVariable, Expression)*) =
        Folded.parts(body.transform {
          case v: NamedLambdaVariable if by.exists(_._1.exprId == v.exprId) =>
            by.find(_._1.exprId == v.exprId).get._2
        })
      val found = list.foldLeft(zero)((before, value) =>
        replaced(step, so -> before, element -> Literal(value, t)))
      Some(replaced(last, all -> found))
    case _ => None
  }

  /**
   * True if the body uses the variable at most once, and not inside an inner lambda. With two uses, the size of
   * the nested calls would double with each call. Each nested call also has a copy of each inner lambda. If one copy
   * were put inside another, both would have the same variables.
   */
  private def isOnce(v: NamedLambdaVariable, body: Expression): Boolean = {
    def isOf(e: Expression) = e match {
      case u: NamedLambdaVariable => u.exprId == v.exprId
      case _ => false
    }
    body.collect { case u if isOf(u) => u }.size <= 1 && !body.exists {
      case inner: LambdaFunction => inner.exists(isOf)
      case _ => false
    }
  }

  /** The maximum depth of nested calls. */
  private val MostCalls = 64

  /**
   * A function inside a predicate. The function has the same result for all values except a few. An example is
   * `array_position(array(5, 7), c)`, which is 0 unless `c` is 5 or 7.
   *
   * @param default the result for most values; where the argument is NULL, the result may be NULL instead
   * @param others the values, or else the rows, for which the result may differ from `default`
   */
  private final case class SparseFunction(default: Any, others: Others)

  private sealed trait Others

  /** The result may differ for these values, none of which is NULL. */
  private final case class Keys(of: Expression, values: Seq[Any]) extends Others

  /** The result may differ in the rows for which a condition is true. */
  private final case class Rows(condition: Expression) extends Others

  private object SparseFunction {
    def in(predicate: Expression): Option[Membership] = {
      find(predicate).map { case (call, f) =>
        def value(result: Any) =
          Folded.value(Branches.replaced(predicate, call, Literal(result, call.dataType)))
        val usual = Seq(value(f.default), value(null))
        def rows(wanted: Boolean) =
          // nothing is known if most values, or NULL, make the predicate `wanted`, or if the predicate also depends
          // on other columns
          if (usual.contains(None) || usual.contains(Some(wanted))) None
          else Some(f.others match {
            case Rows(condition) => condition
            case Keys(of, keys) =>
              val right = keys.filter { key =>
                val at = predicate.transform {
                  case e if e eq of => Literal(key, of.dataType)
                }
                Folded.value(at).forall(_ == wanted)
              }
              Membership.in(of, right, of.dataType)
          })
        Membership(rows(wanted = true), rows(wanted = false))
      }
    }

    // the body of a lambda sees elements, not only values of the row
    private def find(e: Expression): Option[(Expression, SparseFunction)] = e match {
      case _: LambdaFunction => None
      case _ =>
        of(e).map(e -> _).orElse(
          e.children.iterator.map(find).collectFirst { case Some(found) => found })
    }

    private def of(e: Expression): Option[SparseFunction] = e match {
      case ArrayContains(Folded.Elements(list, _), value) =>
        keys(if (list.contains(null)) null else false, value, list)
      case ArrayPosition(Folded.Elements(list, _), value) => keys(0L, value, list)
      case FindInSet(value, Text(list)) =>
        keys(0, value, list.split(",", -1).toSeq.map(UTF8String.fromString))
      case ElementAt(Map(list), value, _, _) => keys(null, value, list)
      case GetMapValue(Map(list), value) => keys(null, value, list)
      case Size(ArrayFilter(Folded.Elements(list, t), lambda), _) =>
        calls(lambda, list, t).flatMap(p => any(p.map(EqualNullSafe(_, Literal(true)))))
          .map(p => SparseFunction(0, Rows(p)))
      case Size(ArrayIntersect(CreateArray(values, _), Folded.Elements(list, t)), _) =>
        any(values.map(same(_, list, t))).map(p => SparseFunction(0, Rows(p)))
      case Size(ArrayIntersect(Folded.Elements(list, t), CreateArray(values, _)), _) =>
        any(values.map(same(_, list, t))).map(p => SparseFunction(0, Rows(p)))
      case Size(ArrayExcept(CreateArray(Seq(value), _), Folded.Elements(list, t)), _) =>
        Some(SparseFunction(1, Rows(same(value, list, t))))
      case StringInstr(Text(text), part) => parts(0, text, part)
      case StringLocate(part, Text(text), start) if start.foldable => parts(0, text, part)
      case Contains(Text(text), part) => parts(false, text, part)
      case _ => None
    }

    private def keys(default: Any, value: Expression, list: Seq[Any]): Option[SparseFunction] = {
      val present = list.filter(_ != null).distinct
      if (present.size > MostElements || value.foldable) None
      else Some(SparseFunction(default, Keys(value, present)))
    }

    /** For array_intersect and array_except, NULL is equal to NULL. */
    private def same(value: Expression, list: Seq[Any], t: DataType): Expression = {
      val isIn = In(value, list.filter(_ != null).map(Literal(_, t)))
      if (list.contains(null)) Or(IsNull(value), isIn) else isIn
    }

    /**
     * The values for which `part` is a part of a constant text. `part` may be a concatenation of the value
     * with constant texts around it.
     */
    private def parts(default: Any, text: String, part: Expression): Option[SparseFunction] =
      part match {
        case Parts(before, value, after) => parts(default, text, value, before, after)
        case _ => None
      }

    private def parts(
        default: Any,
        text: String,
        value: Expression,
        before: String,
        after: String): Option[SparseFunction] = {
      val starts = placesOf(before, text).map(_ + before.length)
      val ends = placesOf(after, text)
      // Spark searches bytes. In ASCII, each part of the bytes is a text; in UTF-8, a part may cut a character.
      val isPlain = (text + before + after).forall(_ < 128) && value.dataType == StringType
      if (!isPlain || starts.size.toLong * ends.size > 2L * MostElements) None
      else {
        val found = for (s <- starts; e <- ends if e >= s) yield text.substring(s, e)
        keys(default, value, found.map(UTF8String.fromString))
      }
    }

    private def placesOf(part: String, text: String): Seq[Int] =
      (0 to text.length - part.length).filter(text.startsWith(part, _))

    private object Map {
      def unapply(e: Expression): Option[Seq[Any]] = e.dataType match {
        case MapType(t, _, _) =>
          Folded.value(e).collect { case m: MapData => m.keyArray().toSeq[Any](t) }
        case _ => None
      }
    }
  }

  /** A constant text whose bytes are valid UTF-8. */
  private[predicate] object Text {
    def unapply(e: Expression): Option[String] =
      if (e.dataType != StringType) None
      else Folded.value(e).collect {
        case s: UTF8String if UTF8String.fromString(s.toString) == s => s.toString
      }
  }
}
