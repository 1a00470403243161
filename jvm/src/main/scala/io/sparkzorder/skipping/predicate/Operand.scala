// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero
import org.apache.spark.sql.types._

import io.sparkzorder.skipping.values.{
  BeginningsInFiles,
  ByteIntervals,
  BytesPosition,
  ColumnFunction,
  ComparisonDomain,
  Extent,
  Intervals,
  LaterCharacters,
  LiteralPosition,
  LongIntervals,
  LongPosition,
  NotSearched,
  OrderedValue,
  Reals,
  SameBytes,
  SearchedBeginnings,
  SearchedDecimals,
  SearchedFunction,
  SearchedTexts,
  TextFunctions,
  WholeNumbers,
  WideCall
}

/** The side of a comparison that holds columns. */
private[sparkzorder] sealed trait Compared {

  /** The domain in which the other side is compared. */
  def domain: ComparisonDomain

  /** The type that the other side of the comparison must have. */
  def compared: DataType
  def name: String
}

/**
 * An expression with several columns.
 *
 * @param columns each column as it stands in the expression, and as a column of the table
 */
private[sparkzorder] final case class SeveralColumns(
    e: Expression,
    columns: Seq[(Expression, DataColumn)],
    domain: ComparisonDomain)
    extends Compared {
  override def compared: DataType = e.dataType
  override def name: String = columns.map(_._2.name).mkString(", ")
}

private[sparkzorder] object SeveralColumns {

  /** Left is the reason why an expression is not accepted. */
  def of(e: Expression, columns: TableColumns): Either[String, SeveralColumns] = {
    val found = Operand.columnsOf(e, columns).map(c => columns.find(c).map(c -> _))
    val some = found.collect { case Right(column) if Extent.isKnown(column._2.dataType) => column }
    if (some.size < 2 || some.size < found.size || some.size > MostColumns || !e.deterministic ||
      SubqueryExpression.hasSubquery(e)) Left(TableColumns.kind(e))
    else ComparisonDomain.of(e.dataType).map(SeveralColumns(e, some, _))
      .toRight(s"the type ${e.dataType.sql}")
  }

  private val MostColumns = 8
}

/**
 * The side of a comparison that holds one column: the column itself, or an expression with the column.
 *
 * @param functions the functions that are applied to the column, from the outermost to the innermost
 * @param isWantedAtNull whether a row may match where the column is NULL. The arguments are the wanted results of
 *   the expression, and whether NULL is wanted, too
 */
private[sparkzorder] final case class Operand(
    column: DataColumn,
    domain: ComparisonDomain,
    compared: DataType,
    functions: List[AppliedFunction] = Nil,
    isWantedAtNull: (Intervals, Boolean) => Boolean = (_, ofNulls) => ofNulls)
    extends Compared {
  override def name: String = column.name

  /**
   * The values of the column for which the operand may be one of `results`. Left is the reason why
   * these values are not known.
   *
   * @param ofNulls values for which the operand is NULL are wanted, too
   */
  def valuesFor(
      results: Intervals,
      ofNulls: Boolean,
      of: ColumnDomains): Either[String, Intervals] =
    try {
      val inner = functions.drop(1).map(Some(_)) :+ None
      val (values, _) = functions.zip(inner).foldLeft((results, ofNulls)) {
        case ((wanted, nulls), (applied, inner)) =>
          // the index has the bytes of the column, so a cast that keeps these bytes counts as the column itself
          val isOfColumn = inner.forall(i => i.function == SameBytes && (i eq functions.last))
          val values = applied.function match {
            case later: LaterCharacters if isOfColumn =>
              later.valuesFor(wanted, of.beginning, of.isOfAllFiles)
            case texts: SearchedBeginnings if isOfColumn =>
              texts.valuesFor(wanted, nulls, new BeginningsInFiles(of.beginning, of.texts))
            case function =>
              // only the values of the column itself are in the index
              function.valuesFor(wanted, nulls, if (inner.isEmpty) of.range else None)
          }
          // the inner function may be NULL where the column is not
          (values, inner.isDefined && applied.isWantedAtNull(wanted, nulls))
      }
      Right(values)
    } catch {
      case e: NotSearched => Left(e.getMessage)
      case NonFatal(e) => Left(s"a function of ${column.name} that fails: ${e.getMessage}")
    }
}

/**
 * A function of a column, or of another function of the column.
 *
 * @param call the expression that applies the function
 * @param of the argument in this expression
 */
private[sparkzorder] final case class AppliedFunction(
    function: ColumnFunction,
    call: Expression,
    of: Expression) {

  /** True if the result is wanted where the argument is NULL, or if Spark raises an error there. */
  def isWantedAtNull(results: Intervals, ofNulls: Boolean): Boolean =
    Operand.isWantedAtNull(call, of, results, ofNulls)
}

private[sparkzorder] object Operand {

  /**
   * True if the result of an expression is wanted where a part of the expression is NULL. With NULL in the place of
   * the part, the result is then one of `results`, or the result is NULL and `ofNulls` is true. Also true if Spark
   * raises an error there.
   */
  def isWantedAtNull(
      e: Expression,
      part: Expression,
      results: Intervals,
      ofNulls: Boolean): Boolean =
    try {
      val value =
        e.transformDown { case p if p.semanticEquals(part) => Literal(null, p.dataType) }.eval()
      if (value == null) ofNulls
      else (ComparisonDomain.of(e.dataType).flatMap(LiteralPosition.of(value, _)), results) match {
        case (Some(LongPosition(low, high)), longs: LongIntervals) => longs.overlaps(low, high)
        case (Some(BytesPosition(low, high, _)), bytes: ByteIntervals) => bytes.overlaps(low, high)
        case (Some(_), other) => !other.isEmpty
        case (None, _) => true
      }
    } catch { case NonFatal(_) => true }

  /** Accepts an expression with one column. Left is the reason why it is not accepted. */
  def of(e: Expression, columns: TableColumns): Either[String, Operand] = e match {
    // a join takes all NaN for one value, and 0.0 and -0.0 for one value, as the index does
    case KnownFloatingPointNormalized(NormalizeNaNAndZero(key)) => ofPlain(key, columns)
    case _ => ofPlain(e, columns)
  }

  private def ofPlain(e: Expression, columns: TableColumns): Either[String, Operand] =
    columns.find(e) match {
      case Right(column) =>
        ComparisonDomain.of(column.dataType).map(Operand(column, _, column.dataType))
          .toRight(typeOf(column))
      case Left(_) => exactCast(e, columns).toRight("").left.flatMap(_ => function(e, columns))
    }

  private def typeOf(column: DataColumn): String =
    s"the type ${column.dataType.sql} of ${column.name}"

  private def function(e: Expression, columns: TableColumns): Either[String, Operand] =
    for {
      variable <- onlyColumn(e, columns)
      column <- columns.find(variable)
      domain <- ComparisonDomain.of(e.dataType).toRight(s"the type ${e.dataType.sql}")
      _ <- ComparisonDomain.of(column.dataType).toRight(typeOf(column))
      text = textOf(variable, e)
      functions <- functions(e, text.fold(variable)(_.call))
    } yield Operand(
      column,
      domain,
      e.dataType,
      merged(functions, text.fold(variable)(_.call)) ++ text,
      isWantedAtNull(e, variable, _, _))

  /** The cast of a BINARY column to STRING, which keeps the bytes. None if the column also stands elsewhere. */
  private def textOf(variable: Expression, e: Expression): Option[AppliedFunction] =
    if (variable.dataType != BinaryType) None
    else e.collectFirst {
      case c: Cast if c.child.semanticEquals(variable) => c
    }.filter(c => isAllOf(variable, e, c)).flatMap { c =>
      TextFunctions.of(c, variable).filter(_ == SameBytes).map(AppliedFunction(_, c, variable))
    }

  /**
   * Replaces the outermost searched function of texts, and all functions between it and the column, by one searched
   * function of the column. A search needs the texts of the files, and the index knows only the texts of the column.
   */
  private def merged(
      functions: List[AppliedFunction],
      variable: Expression): List[AppliedFunction] = {
    val from = functions.indexWhere { f =>
      f.function match {
        case searched: SearchedTexts => searched.isAlone
        case _ => false
      }
    }
    if (from < 0 || from == functions.size - 1) functions
    else {
      val call = functions(from).call
      SearchedTexts.of(call, variable).fold(functions) { f =>
        functions.take(from) :+ AppliedFunction(f, call, variable)
      }
    }
  }

  /** The column of an expression that has no other column. */
  private def onlyColumn(e: Expression, columns: TableColumns): Either[String, Expression] = {
    val found = columnsOf(e, columns)
    found match {
      case _ if SubqueryExpression.hasSubquery(e) || !e.deterministic || found.isEmpty =>
        Left(TableColumns.kind(e))
      case Seq(one) => columns.find(one).map(_ => one)
      case _ =>
        found.map(columns.find).collectFirst { case Left(reason) => Left(reason) }
          .getOrElse(Left(s"${TableColumns.kind(severalIn(e))} of several columns"))
    }
  }

  /** The columns that an expression has, each of them once. */
  private[predicate] def columnsOf(e: Expression, columns: TableColumns): Seq[Expression] = {
    def all(e: Expression): Seq[Expression] = e match {
      case a: Attribute => Seq(a)
      case g: GetStructField if columns.find(g).isRight => Seq(g)
      case other => other.children.flatMap(all)
    }
    all(e).foldLeft(Seq.empty[Expression])((some, c) =>
      if (some.exists(_.semanticEquals(c))) some else some :+ c)
  }

  /** The smallest part with several columns. */
  private def severalIn(e: Expression): Expression =
    e.children.find(_.references.size > 1).map(severalIn).getOrElse(e)

  private def functions(e: Expression, variable: Expression)
      : Either[String, List[AppliedFunction]] =
    if (e.semanticEquals(variable)) Right(Nil)
    else if (OrderedValue.range(variable.dataType).isDefined) {
      Right(List(AppliedFunction(new SearchedFunction(e, variable), e, variable)))
    } else variable.dataType match {
      case t: DecimalType =>
        byCalls(e, variable).left.flatMap { _ =>
          Right(List(AppliedFunction(new SearchedDecimals(e, variable, t), e, variable)))
        }
      case _ =>
        byCalls(e, variable).left.flatMap { reason =>
          SearchedTexts.of(e, variable).map(f => List(AppliedFunction(f, e, variable)))
            .toRight(reason)
        }
    }

  private def byCalls(e: Expression, variable: Expression)
      : Either[String, List[AppliedFunction]] = {
    // the innermost call may turn a text or a wide DECIMAL into a date or a number
    onlyCallOf(variable, e).flatMap { first =>
      // a call that splits a text is understood only together with the call that takes one of the parts
      val calls = first +: onlyCallOf(first, e).toOption.toSeq
      calls.flatMap(call => functionOf(call, variable).map(call -> _)).headOption
        .toRight(TableColumns.kind(first)).flatMap { case (call, function) =>
          functions(e, call).map(_ :+ AppliedFunction(function, call, variable))
        }
    }
  }

  private def functionOf(call: Expression, variable: Expression): Option[ColumnFunction] =
    TextFunctions.of(call, variable) match {
      case Some(rough) if TextFunctions.isApproximate(rough) =>
        SearchedTexts.of(call, variable, Some(rough)).orElse(Some(rough))
      case None if SearchedTexts.isCall(call, variable) => SearchedTexts.of(call, variable)
      case known => known.orElse(WideCall.unapply(call).collect {
          case (child, function) if child.semanticEquals(variable) => function
        })
    }

  /**
   * The call in an expression that has `part` as an argument. If a beginning of `part` contains every other such call,
   * as in `substring(t, 1, instr(t, ' '))`, the call is that beginning. Left if there is no call, or if several
   * different calls remain.
   */
  private def onlyCallOf(part: Expression, e: Expression): Either[String, Expression] = {
    val calls = e.collect { case f if f.children.exists(_.semanticEquals(part)) => f }
    calls.find(TextFunctions.isBeginning(_, part)).filter(isAllOf(part, e, _)).map(Seq(_))
      .getOrElse(calls) match {
      case Seq() => Left(TableColumns.kind(e))
      case some if some.forall(_.semanticEquals(some.last)) => Right(some.last)
      case some => Left(TableColumns.kind(some.last))
    }
  }

  /** True if an expression has `part` only inside of `call`. */
  private def isAllOf(part: Expression, e: Expression, call: Expression): Boolean =
    !e.transformDown { case c if c.semanticEquals(call) => Literal(null, call.dataType) }
      .exists(_.semanticEquals(part))

  /** A cast that maps different values of a column to different values. The domain is that of the column. */
  private def exactCast(e: Expression, columns: TableColumns): Option[Operand] = e match {
    case c: Cast => columns.find(c.child).toOption.flatMap(underCast(c, _))
    case _ => None
  }

  private def underCast(cast: Cast, column: DataColumn): Option[Operand] = {
    val domain = (column.dataType, cast.dataType) match {
      case (from, same) if from == same => ComparisonDomain.of(from)
      case (Integral(), Integral()) => Some(WholeNumbers(0))
      case (Integral(), _: DecimalType) => Some(WholeNumbers(0))
      case (from: DecimalType, _: DecimalType) => ComparisonDomain.of(from)
      case (FloatType, DoubleType) => Some(Reals)
      case _ => None
    }
    domain.filter(_ => isOneToOne(cast, column.dataType)).map(Operand(column, _, cast.dataType))
  }

  /**
   * True if a cast back gives the original value. A few values tell this for all: a cast between numbers loses
   * digits either after the point, as values near 0 show, or before the point, as the greatest values show.
   */
  private def isOneToOne(cast: Cast, from: DataType): Boolean = {
    val samples: Seq[Any] = OrderedValue.range(from) match {
      case Some((least, greatest)) =>
        Seq(least, least + 1, -1L, 0L, 1L, greatest - 1, greatest).map(OrderedValue.ofLong(from))
      case None => from match {
          case d: DecimalType =>
            val nines = BigDecimal(BigInt("9" * d.precision), d.scale)
            Seq(nines, -nines, BigDecimal(BigInt(1), d.scale)).map(Decimal(_, d.precision, d.scale))
          case _ => Nil
        }
    }
    from == cast.dataType || samples.nonEmpty && samples.forall { value =>
      Try {
        val there = cast.withNewChildren(Seq(Literal(value, from)))
        Cast(there, from, cast.timeZoneId, cast.evalMode).eval() == value
      }.toOption.contains(true)
    }
  }

  private object Integral {
    def unapply(t: DataType): Boolean = t match {
      case ByteType | ShortType | IntegerType | LongType => true
      case _ => false
    }
  }
}
