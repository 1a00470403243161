// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import java.util.IdentityHashMap

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.{BooleanType, DataType, StringType}
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.skipping.values.{Comparison, LikePattern, RegexPattern}

/**
 * Turns a filter into a test of files. NOT is pushed down to the single predicates, so each of
 * these predicates has two rules. One rule keeps the files where the predicate may be true. The
 * other rule keeps the files where the predicate may be false. A row for which the predicate is
 * NULL counts for neither rule. The compiler evaluates no row, but only constants, and functions at chosen values.
 *
 * {{{
 * predicate            keeps a file where                       NOT of it keeps a file where
 * c IS NULL            it may hold NULL                         it may hold a value
 * c < v, c > v, ..     some value of [min, max] is below v, ..  some value of [min, max] is not
 * c = v, c IN (v, ..)  some v lies in [min, max]                [min, max] holds another value
 * c <=> v              as c = v                                 as NOT c = v, or it may hold NULL
 * c LIKE 'p%'          [min, max] holds a value that begins     [min, max] holds a value that
 *                      with p                                   does not begin with p
 * c LIKE 'p%q'         as c LIKE 'p%'                           always
 * c LIKE 'p_q%'        some text of [min, max] begins so        always
 * c RLIKE '^p'         as c LIKE 'p%'                           as NOT c LIKE 'p%'
 * c (BOOLEAN)          as c = true                              as c = false
 * isnan(c)             it may hold NaN                          it may hold NULL or another value
 * greatest(a, b) > v   a > v or b > v keeps it                  both for a and for b: <= v keeps it,
 *                                                               or the column may hold NULL
 * a < b, a = b, ..     some value of [min, max] of a is below   some value of a is not below
 *                      some value of [min, max] of b, ..        some value of b, ..
 * a + b > v, ..        the sum of some values of the columns    the sum of some values is not
 *                      is above v
 * (a, b) IN ((v, w),   a <=> v AND b <=> w of one pair keeps    always
 *   ..)                it
 * (a, b) > (v, w)      a >= v keeps it                          a <= v keeps it, or a may hold NULL
 * c = NULL, c < NULL   never                                    never
 * c IN (v, NULL)       as c IN (v)                              never
 * concat(a, 'x', b)    a = v AND b = w keeps it, for each x     as for other expressions
 *   = 'vxw'            in the constant
 *   LIKE 'vx%'         likewise                                 as for other expressions
 * a AND b              both keep it                             NOT a or NOT b keeps it
 * a OR b               one of them keeps it                     NOT a and NOT b keep it
 * COALESCE, IF, CASE   one of the branches keeps it             likewise
 * array_contains(      as c IN (v, w)                           as c NOT IN (v, w)
 *   array(v, w), c)
 * array(a, b) =        a <=> v AND b <=> w keeps it             always
 *   array(v, w)
 * e (an expression     as e = true                              as e = false
 *   with one column)
 * anything else        always                                   always
 * }}}
 *
 * In place of `c` there may be an expression with `c`. The values of `c` for which the predicate may
 * hold are then searched ([[Operand]], [[io.sparkzorder.skipping.values.SearchedFunction]]).
 *
 * A condition can stand inside of another: in a CASE, in `IS NULL`, or in a comparison. For each
 * condition there are therefore three tests: whether it may be TRUE, FALSE or NULL ([[Truth]]). They
 * come from the tests of its parts, and each part is tested once.
 *
 * NaN is the greatest value. A file that may hold NaN counts as holding NaN. Every rule on the
 * values of `c` keeps a file without bounds of `c`. A rule keeps a file in which `c` has only NULLs only where the
 * table says that NULL is enough, or where an expression makes the wanted value of NULL, as `coalesce(c, 0) = 0` does.
 * A predicate that keeps every file becomes [[Unknown]]. An AND ignores an unknown
 * side. An OR with an unknown side is unknown.
 */
private[sparkzorder] final class PredicateCompiler(
    columns: TableColumns,
    domains: ColumnDomainsReader) {
  private val tests = new ColumnTests(columns, domains)
  private val nullability = new Nullability(columns)

  // The greatest number of parts of the test of a branch's condition. If the test of the branch's value is known, a
  // test of a condition with more parts is left out.
  private val MostGuards = 8
  // more patterns are tested only by their beginnings: the search for one pattern may take a large part of a second
  private val MostSearchedPatterns = 32
  import Branches.isCondition
  import Folded.Elements
  import tests._

  /** Whether a condition may be TRUE, FALSE or NULL for some row of a file. */
  private final class Truth(e: Expression) {
    private lazy val membership = Membership.of(e)
    lazy val isTrue: FileTest =
      membership.flatMap(_.ifTrue).fold {
        FileTest.and(single(e, negated = false) +: JoinedTexts.of(e).map(apply(_)).toSeq)
      }(apply(_))
    lazy val isFalse: FileTest =
      membership.flatMap(_.ifFalse).fold(single(e, negated = true))(apply(_))
    lazy val isNull: FileTest = nullTest(e)
  }

  // A cache, because each test around a condition asks for the tests of this condition again. Its keys are compared
  // by identity, because comparing large expressions takes long.
  private val truths = new IdentityHashMap[Expression, Truth]
  private def truth(e: Expression): Truth = truths.computeIfAbsent(e, new Truth(_))

  /** @param negated keep the files where the filter may be false instead of true */
  def apply(filter: Expression, negated: Boolean = false): FileTest = filter match {
    case _: And | _: Or => several(filter, negated)
    case Not(inner) => apply(inner, !negated)
    case Literal(value, BooleanType) =>
      if (value == null || value == negated) Never else Unknown("always true")
    case r: RuntimeReplaceable => apply(r.replacement, negated)
    case e => if (negated) truth(e).isFalse else truth(e).isTrue
  }

  private def single(filter: Expression, negated: Boolean): FileTest = filter match {
    case IsNull(e) => if (negated) mayHaveValue(e) else mayBeNull(e)
    case IsNotNull(e) => if (negated) mayBeNull(e) else mayHaveValue(e)
    case EqualNullSafe(e, Literal(null, _)) => if (negated) mayHaveValue(e) else mayBeNull(e)
    case EqualNullSafe(Literal(null, _), e) => if (negated) mayHaveValue(e) else mayBeNull(e)
    case BinaryComparison(a, b) if isCondition(a) || isCondition(b) =>
      conditions(filter, a, b, negated)
    case Branches(branches, otherwise) => firstTrue(branches, otherwise)(apply(_, negated))
    case InnerBranches(branches, otherwise, at) =>
      firstTrue(branches, otherwise)(v => apply(at(v), negated))
    case EqualNullSafe(e, Literal(v, t)) => in(e, Seq(v), t, negated, nullsToo = negated)
    case EqualNullSafe(Literal(v, t), e) => in(e, Seq(v), t, negated, nullsToo = negated)
    case Lists(rewritten) => apply(rewritten, negated)
    case EqualTo(CreateArray(values, _), Elements(list, _)) if list.size == values.size =>
      if (negated) Unknown("NOT of a comparison of lists")
      else FileTest.and(values.zip(list).map { case (v, x) =>
        apply(EqualNullSafe(v, Literal(x, v.dataType)))
      })
    case Extremes(rewritten) => apply(rewritten(negated))
    case RowOrder(rewritten) => apply(rewritten(negated))
    case EqualTo(RowOf(values), Literal(v, t)) => inRows(values, Seq(v), t, negated)
    case EqualTo(e, Literal(v, t)) => equal(e, v, t, negated)
    case EqualTo(Literal(v, t), e) => equal(e, v, t, negated)
    case Comparison.WithLiteral(e, comparison, Literal(v, t)) =>
      compare(e, comparison, v, t, negated)
    case c: BinaryComparison
        if c.left.references.nonEmpty && c.right.references.nonEmpty &&
          c.references.size > 1 => pair(c, negated)
    case In(RowOf(values), list) if list.nonEmpty && list.forall(_.isInstanceOf[Literal]) =>
      inRows(values, list.map(_.asInstanceOf[Literal].value), list.head.dataType, negated)
    case In(e, list) if list.forall(_.isInstanceOf[Literal]) =>
      val literals = list.map(_.asInstanceOf[Literal])
      val types = literals.filter(_.value != null).map(_.dataType).distinct
      if (types.size > 1) Unknown("IN with values of several types")
      else inList(e, literals.map(_.value), types.headOption.getOrElse(e.dataType), negated)
    case InSet(e @ RowOf(values), set) => inRows(values, set.toSeq, e.dataType, negated)
    case InSet(e, values) => inList(e, values.toSeq, e.dataType, negated)
    case IsNaN(e) => nan(e, negated)
    case StartsWith(e, Literal(prefix: UTF8String, t)) => startsWith(e, prefix, t, negated)
    case Like(_, Literal(null, _), _) | RLike(_, Literal(null, _)) => Never
    case l @ Like(e, Literal(pattern: UTF8String, t), _) =>
      val beginning = LikePattern.of(pattern.toString, l.escapeChar)
      val known = beginning
        .fold[FileTest](Unknown("a LIKE pattern that does not begin with letters")) {
          text(e, _, t, negated)
        }
      matched(l, beginning, known, negated)
    case r @ RLike(e, Literal(pattern: UTF8String, t)) =>
      val beginning = RegexPattern.of(pattern.toString)
      val known = beginning
        .fold[FileTest](Unknown("a regular expression that does not begin with ^ and letters")) {
          text(e, _, t, negated)
        }
      matched(r, beginning, known, negated)
    case l: LikeAny => likes(l.child, l.patterns, negated, isAny = true, isNot = false)
    case l: LikeAll => likes(l.child, l.patterns, negated, isAny = false, isNot = false)
    case l: NotLikeAny => likes(l.child, l.patterns, negated, isAny = true, isNot = true)
    case l: NotLikeAll => likes(l.child, l.patterns, negated, isAny = false, isNot = true)
    case other => equal(other, true, BooleanType, negated)
  }

  // the number of patterns that were searched for
  private var searchedPatterns = 0

  /** If a pattern asks for more than its first letters, the texts of the files are searched for it, too. */
  private def matched(
      filter: Expression,
      beginning: Option[LikePattern],
      known: FileTest,
      negated: Boolean): FileTest =
    if (negated || beginning.exists(_.extent != LikePattern.Part) ||
      searchedPatterns == MostSearchedPatterns) known
    else {
      searchedPatterns += 1
      FileTest.and(Seq(known, equal(filter, true, BooleanType, negated = false)))
    }

  /** All sides of a chain of ANDs or ORs at once, because there may be thousands of them. */
  private def several(filter: Expression, negated: Boolean): FileTest = {
    val isAnd = filter.isInstanceOf[And] != negated
    val sides = if (isAnd && !negated) TextRanges.joined(sidesOf(filter)) else sidesOf(filter)
    val tests = sides.map {
      case TextRanges(of, comparisons) if isAnd && !negated => compareAll(of, comparisons)
      case side => apply(side, negated)
    }
    if (isAnd) FileTest.and(tests) else FileTest.or(tests)
  }

  private def sidesOf(filter: Expression): Seq[Expression] = {
    val isAnd = filter.isInstanceOf[And]
    val sides = Seq.newBuilder[Expression]
    var open = List(filter)
    while (open.nonEmpty) {
      (open.head, isAnd) match {
        case (And(l, r), true) => open = l :: r :: open.tail
        case (Or(l, r), false) => open = l :: r :: open.tail
        case (side, _) =>
          sides += side
          open = open.tail
      }
    }
    sides.result()
  }

  /** A comparison of two conditions, or of a condition with TRUE or FALSE. */
  private def conditions(
      filter: Expression,
      a: Expression,
      b: Expression,
      negated: Boolean): FileTest = {
    def both(isA: FileTest, isB: FileTest) = FileTest.and(Seq(isA, isB))
    val equal =
      Seq(both(apply(a), apply(b)), both(apply(a, negated = true), apply(b, negated = true)))
    val different =
      Seq(both(apply(a), apply(b, negated = true)), both(apply(a, negated = true), apply(b)))
    filter match {
      case _: EqualTo => FileTest.or(if (negated) different else equal)
      case _: EqualNullSafe if negated =>
        val oneNull = Seq(both(mayBeNull(a), mayHaveValue(b)), both(mayHaveValue(a), mayBeNull(b)))
        FileTest.or(different ++ oneNull)
      case _: EqualNullSafe => FileTest.or(equal :+ both(mayBeNull(a), mayBeNull(b)))
      case _ => Unknown(TableColumns.kind(filter))
    }
  }

  /** Keeps the files where some row may take a branch whose value passes a test. */
  private def firstTrue(branches: Seq[(Expression, Expression)], otherwise: Expression)(
      test: Expression => FileTest): FileTest = {
    val known = test(otherwise) +: branches.map { case (_, value) => test(value) }
    def ofBranch(guards: Seq[FileTest], passes: FileTest) =
      if (passes == Never) Never
      // where the test of the value is unknown, the conditions alone can prune, so all of them are tested
      else FileTest.and(guards.filter(g => isUnknown(passes) || g.parts <= MostGuards) :+ passes)
    var before = Option.empty[FileTest]
    val each = branches.zip(known.tail).map { case ((condition, _), passes) =>
      val one = ofBranch(before.toSeq :+ apply(condition), passes)
      before = Some(FileTest.and(before.toSeq :+ notTrue(condition)))
        .filter(_.parts <= FileTest.MostParts)
      one
    }
    val all = FileTest.or(each :+ ofBranch(before.toSeq, known.head))
    Iterator(all, FileTest.or(known)).find(_.parts <= FileTest.MostParts)
      .getOrElse(Unknown("a condition of too many parts"))
  }

  private def isUnknown(test: FileTest): Boolean = test.isInstanceOf[Unknown]

  /** Keeps the files where a condition may be FALSE or NULL. */
  private def notTrue(e: Expression): FileTest =
    FileTest.or(Seq(apply(e, negated = true), mayBeNull(e)))

  private def mayBeNull(e: Expression): FileTest = truth(e).isNull

  private def nullTest(e: Expression): FileTest = e match {
    case Literal(value, _) => if (value == null) Unknown("always NULL") else Never
    case _: And | _: Or =>
      val sides = sidesOf(e)
      FileTest.or(sides.filterNot(isDecidedAtNull(_, sides, e.isInstanceOf[And])).map(mayBeNull))
    case Not(inner) => mayBeNull(inner)
    case r: RuntimeReplaceable => mayBeNull(r.replacement)
    case _ if nullability.isNeverNull(e) => Never
    case Coalesce(values) => FileTest.and(values.map(mayBeNull))
    case Branches(branches, otherwise) => firstTrue(branches, otherwise)(mayBeNull)
    case c: BinaryComparison => FileTest.or(c.children.map(mayBeNull))
    case InnerBranches(branches, otherwise, at) =>
      firstTrue(branches, otherwise)(v => mayBeNull(at(v)))
    case _ => nullability.columnsOf(e) match {
        case Some(of) => FileTest.or(of.map(nulls(_, isNull = true)))
        case None => nulls(e, isNull = true)
      }
  }

  /**
   * True for a side of an AND or OR that is NULL only where a column is, while another side tests the column
   * for NULL and decides the whole there: `c IS NULL OR c < 5` is never NULL.
   */
  private def isDecidedAtNull(
      side: Expression,
      sides: Seq[Expression],
      isAnd: Boolean): Boolean =
    nullability.columnsOf(side).exists { columns =>
      columns.nonEmpty && columns.forall(c =>
        sides.exists {
          case IsNull(tested) => !isAnd && tested.semanticEquals(c)
          case IsNotNull(tested) => isAnd && tested.semanticEquals(c)
          case _ => false
        })
    }

  private def mayHaveValue(e: Expression): FileTest = e match {
    case Literal(value, _) => if (value == null) Never else Unknown("always true")
    case Branches(branches, otherwise) => firstTrue(branches, otherwise)(mayHaveValue)
    case _ if isCondition(e) =>
      FileTest.or(Seq(apply(e), apply(e, negated = true))) match {
        case test if isUnknown(test) || test.parts > 1 => nulls(e, isNull = false)
        case test => test
      }
    case _ => nulls(e, isNull = false)
  }

  /** An IN of rows, such as `(a, b) IN ((1, 2), (3, 4))`. Two NULLs in rows count as equal. */
  private def inRows(
      values: Seq[Expression],
      rows: Seq[Any],
      t: DataType,
      negated: Boolean): FileTest =
    if (negated) Unknown("NOT IN of several columns")
    else {
      RowValues.of(rows, t).fold[FileTest](Unknown("IN with rows of unknown values")) { tuples =>
        def field(i: Int, v: Any, ft: DataType) = apply(EqualNullSafe(values(i), Literal(v, ft)))
        if (tuples.size <= FileTest.MaxDisjuncts) {
          FileTest.or(tuples.map(tuple =>
            FileTest.and(tuple.zipWithIndex.map { case ((v, ft), i) => field(i, v, ft) })))
        } else {
          FileTest.and(values.indices.map(i =>
            FileTest.or(tuples.map(_(i)).distinct.map { case (v, ft) => field(i, v, ft) })))
        }
      }
    }

  private def likes(
      e: Expression,
      patterns: Seq[UTF8String],
      negated: Boolean,
      isAny: Boolean,
      isNot: Boolean): FileTest = {
    val each = patterns.map { p =>
      apply(Like(e, Literal(p, StringType), '\\'), negated = isNot != negated)
    }
    if (isAny != negated) FileTest.or(each) else FileTest.and(each)
  }
}
