// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.dynamic

import scala.util.Random

/** A column of a random relation. The kind says the type, and is the name of the column in the stored tables. */
private[dynamic] final case class KindColumn(name: String, kind: String)

/**
 * A random relation.
 *
 * @param sql what stands in FROM
 * @param rows about the greatest number of rows
 */
private[dynamic] final case class RandomRelation(sql: String, columns: Seq[KindColumn], rows: Long)

/**
 * Draws queries over tables that have one column of each of [[RandomJoins.Kinds]]. No two columns of a query have the
 * same name, so a subquery can name the columns of the query around it.
 *
 * @param large the names of the tables with many files
 * @param small the names of the small tables
 */
private[dynamic] final class RandomJoins(
    random: Random,
    large: Seq[String],
    small: Seq[String],
    ansi: Boolean) {
  import RandomJoins._

  private var names = 0

  /** Kinds that most tables of the query have, so that there is something to join by. */
  private lazy val common = Seq.fill(3)(pick(Frequent ++ Frequent ++ Kinds: _*)).distinct

  private def fresh(prefix: String): String = {
    names += 1
    s"$prefix$names"
  }

  private def pick[T](values: T*): T = values(random.nextInt(values.size))
  private def chance(percent: Int): Boolean = random.nextInt(100) < percent

  private def number: Int =
    if (chance(80)) random.nextInt(240) else pick(0, -1, 5, 2147483647, -2147483648)

  // ---- expressions

  private def literal(kind: String): String = valueOf(kind, s"$number")

  /** An expression of a kind over some columns. */
  private def value(columns: Seq[KindColumn], kind: String, depth: Int = 1): String = {
    val same = columns.filter(_.kind == kind)
    val others = columns.filter(c => casts(kind).contains(c.kind))
    if (same.isEmpty && others.isEmpty) literal(kind)
    else if (same.isEmpty || others.nonEmpty && chance(10)) {
      val c = pick(others: _*)
      val cast = if (c.kind == "s" || chance(if (ansi) 80 else 10)) "try_cast" else "cast"
      s"$cast(${c.name} AS ${typeOf(kind)})"
    } else {
      val c = pick(same: _*).name
      if (depth == 0 || chance(80)) c
      else changed(columns, kind, if (chance(25)) value(columns, kind, depth - 1) else c)
    }
  }

  private def changed(columns: Seq[KindColumn], kind: String, c: String): String =
    random.nextInt(10) match {
      case 0 => s"coalesce($c, ${literal(kind)})"
      case 1 => s"CASE WHEN ${atom(columns)} THEN $c ELSE ${value(columns, kind, 0)} END"
      case 2 => s"if(${atom(columns)}, $c, NULL)"
      case 3 => s"nullif($c, ${literal(kind)})"
      case 4 if kind != "st" && kind != "bo" =>
        s"${pick("greatest", "least")}($c, ${value(columns, kind, 0)})"
      case 5 if chance(25) => s"coalesce($c, raise_error('no $kind'))"
      case _ => function(kind, c)
    }

  private def function(kind: String, c: String): String = kind match {
    case "i" | "x" => pick(
        s"$c + 1",
        s"$c - 7",
        s"$c * 2",
        s"abs($c)",
        s"$c div 3",
        s"$c % 40",
        s"-$c",
        s"int(1000 / $c)")
    case "l" =>
      pick(s"$c + 1", s"$c - 7", s"abs($c)", s"$c div 3", s"shiftright($c, 1)", s"$c % 50")
    case "d" =>
      pick(s"$c + 0", s"cast($c AS DECIMAL(9, 1))", s"round($c, 1)", s"abs($c)", s"$c * 2")
    case "s" => pick(
        s"substring($c, 1, 3)",
        s"concat($c, '')",
        s"upper($c)",
        s"trim($c)",
        s"rpad($c, 6, '0')",
        s"concat($c, '1')",
        s"left($c, 2)")
    case "dt" => pick(
        s"date_add($c, 1)",
        s"date_sub($c, 30)",
        s"trunc($c, 'MM')",
        s"last_day($c)",
        s"add_months($c, 1)")
    case "ts" | "tn" => pick(
        s"date_trunc('DAY', $c)",
        s"date_trunc('MONTH', $c)",
        s"$c + INTERVAL '1' DAY",
        s"$c - INTERVAL '6' HOUR",
        s"date_trunc('HOUR', $c)")
    case "fl" | "db" => pick(s"$c + 0", s"-$c", s"abs($c)", s"$c * 2", s"round($c)", s"1 / $c")
    case "b" => pick(s"substring($c, 1, 3)", s"concat($c, X'')")
    case "bo" => pick(s"(NOT $c)", s"($c IS NULL)", s"($c OR $c)")
    case _ => c
  }

  // ---- conditions

  private def kindOf(columns: Seq[KindColumn]): String = pick(columns: _*).kind

  /** A condition on one relation, without subqueries. */
  private def atom(columns: Seq[KindColumn]): String = {
    val c = pick(columns: _*)
    val e = if (chance(70)) c.name else value(columns, c.kind, 0)
    def one = literal(c.kind)
    random.nextInt(9) match {
      case 0 => s"$e = $one"
      case 1 => s"$e ${pick("<", "<=", ">", ">=")} $one"
      case 2 => s"$e IN ($one, $one, $one)"
      case 3 => s"$e IS NULL"
      case 4 => s"$e IS NOT NULL"
      case 5 => s"$e <=> $one"
      case 6 => s"NOT $e = $one"
      case _ => s"$e BETWEEN $one AND $one"
    }
  }

  /** A filter, perhaps with subqueries. */
  private def filter(columns: Seq[KindColumn], depth: Int): String = {
    def subquery = membership(columns, depth - 1)
    if (depth <= 0 || chance(40)) atom(columns)
    else random.nextInt(9) match {
      case 0 | 1 | 2 => subquery
      case 3 => s"($subquery OR ${atom(columns)})"
      case 4 => s"($subquery OR $subquery)"
      case 5 => s"CASE WHEN $subquery THEN TRUE ELSE ${pick("FALSE", atom(columns))} END"
      case 6 => s"NOT ($subquery)"
      case 7 => s"($subquery AND ${atom(columns)} OR ${atom(columns)})"
      case _ => s"($subquery) <=> ${pick("TRUE", "FALSE")}"
    }
  }

  private def membership(columns: Seq[KindColumn], depth: Int): String = {
    val r = relation(depth)
    val kind = kindOf(columns)
    val (outer, inner) = (value(columns, kind), value(r.columns, kind))
    val from = s"FROM ${r.sql} ${fresh("q")}"
    val where = if (chance(50)) s" WHERE ${filter(r.columns, depth)}" else ""
    random.nextInt(8) match {
      case 0 | 1 => s"$outer IN (SELECT $inner $from$where)"
      case 2 => s"$outer NOT IN (SELECT $inner $from$where)"
      case 3 if columns.size > 1 =>
        val second = kindOf(columns)
        s"($outer, ${value(columns, second)}) IN (SELECT $inner, ${value(r.columns, second)} $from)"
      case 4 if kind != "bo" && kind != "st" =>
        val aggregate = s"(SELECT ${pick("max", "min")}($inner) $from$where)"
        s"$outer ${pick("=", "<", ">=", "<=>")} $aggregate"
      case 5 =>
        val correlated = s"SELECT count(*) $from WHERE $inner = $outer"
        s"($correlated) ${pick("> 0", "= 0", "< 3")}"
      case _ =>
        val not = if (chance(30)) "NOT " else ""
        s"${not}EXISTS (SELECT 1 $from WHERE ${on(columns, r.columns, columns.size * 1L)._1})"
    }
  }

  /** A condition of a join; the second result is true if it has an equality. */
  private def on(
      left: Seq[KindColumn],
      right: Seq[KindColumn],
      pairs: Long): (String, Boolean) = {
    val both = left.filter(c => right.exists(_.kind == c.kind))
    val drawn = kindOf(if (both.nonEmpty && chance(85)) both else left)
    // two truth values match many rows
    val kind = if (drawn == "bo" && pairs > MostPairs) "i" else drawn
    val other =
      if (chance(88)) kind else pick(casts(kind).filter(k => k != "s" || !ansi) :+ kind: _*)
    def l = value(left, kind)
    def r = value(right, other)
    val and = random.nextInt(8) match {
      case 0 => s" AND ${atom(left)}"
      case 1 => s" AND ${atom(right)}"
      case 2 =>
        val second = kindOf(right)
        s" AND ${value(left, second)} ${pick("=", "<", "<>", "<=>")} ${value(right, second)}"
      case _ => ""
    }
    val whole = kind == "i" || kind == "l"
    random.nextInt(if (pairs < MostPairs) 20 else 9) match {
      case 9 => (s"$l > $r$and", false)
      case 10 => (s"$l >= $r AND $l <= ${value(right, other)}$and", false)
      case 11 => (s"$l BETWEEN $r AND ${value(right, kind)}$and", false)
      case 12 if whole => (s"abs($l - ${value(right, kind)}) <= ${random.nextInt(9)}$and", false)
      case 13 if whole => (s"$l - ${value(right, kind)} BETWEEN -3 AND ${random.nextInt(9)}", false)
      case 12 | 13 if kind == "dt" =>
        (s"datediff($l, ${value(right, kind)}) BETWEEN 0 AND ${random.nextInt(9)}$and", false)
      case 14 =>
        val second = kindOf(left)
        (s"($l = $r OR ${value(left, second)} = ${value(right, second)})$and", false)
      case 15 => (s"($l = $r OR ${atom(right)})$and", false)
      case 16 => (s"($l = $r OR ${pick(right: _*).name} IS NULL)$and", false)
      case 17 => (s"$l IN ($r, ${value(right, kind)})$and", false)
      case 18 => (s"array_contains(array(${value(right, kind)}, ${value(right, kind)}), $l)", false)
      case 19 => (s"($l = $r OR ${atom(left)})$and", false)
      case 0 => (s"$l <=> $r$and", true)
      case 1 =>
        val second = kindOf(left)
        val (a, b) = (value(left, second), value(right, second))
        (s"struct($l AS x, $a AS y) = struct(${value(right, kind)} AS x, $b AS y)", true)
      case _ => (s"$l = $r$and", true)
    }
  }

  // ---- relations

  /** Some columns of a stored table under new names. */
  private def stored(share: Int): RandomRelation = {
    val isLarge = chance(share)
    val table = if (isLarge) pick(large: _*) else pick(small: _*)
    val kinds = (random.shuffle(common).take(2) :+ pick(common ++ Kinds: _*)).distinct
    val columns = kinds.map(k => KindColumn(fresh("c"), k))
    val list = columns.map(c => s"${if (c.kind == "x") "st.x" else c.kind} AS ${c.name}")
    val sample = if (!isLarge && chance(3)) " TABLESAMPLE (60 PERCENT) REPEATABLE (7)" else ""
    val tail =
      if (!isLarge && chance(4)) s" LIMIT ${random.nextInt(9)}"
      else if (!isLarge && chance(6)) s" WHERE ${pick(Unsteady: _*)}"
      else ""
    val from = s"(SELECT ${list.mkString(", ")} FROM $table$sample$tail)"
    RandomRelation(from, columns, if (isLarge) 240 else 40)
  }

  /** @param share how many of a hundred tables are large */
  private def relation(depth: Int, share: Int = 50): RandomRelation =
    if (depth <= 0) stored(share)
    else random.nextInt(26) match {
      case 0 | 1 => stored(share)
      case 2 | 3 | 4 =>
        val r = relation(depth - 1, share)
        r.copy(sql = s"(SELECT * FROM ${r.sql} ${fresh("t")} WHERE ${filter(r.columns, depth)})")
      case 5 | 6 => projected(relation(depth - 1, share), depth - 1)
      case 7 | 8 =>
        val r = relation(depth - 1, share)
        if (chance(15)) total(r) else grouped(r)
      case 9 | 10 => ranked(relation(depth - 1, share))
      case 11 | 12 => united(depth)
      case 13 => top(relation(depth - 1, share))
      case 14 => exploded(relation(depth - 1, share))
      case 15 => twice(depth)
      case 16 => lateral(depth)
      case 17 => usingJoin(depth)
      case _ => join(depth)
    }

  private def projected(r: RandomRelation, depth: Int): RandomRelation = {
    val plain = Seq.fill(1 + random.nextInt(3))(KindColumn(fresh("c"), kindOf(r.columns)))
      .map(c => c -> value(r.columns, c.kind))
    val all =
      if (depth > 0 && chance(30)) {
        plain :+ (KindColumn(fresh("c"), "bo") -> s"(${membership(r.columns, depth - 1)})")
      } else plain
    val list = all.map { case (c, e) => s"$e AS ${c.name}" }.mkString(", ")
    val distinct = if (chance(20)) "DISTINCT " else ""
    RandomRelation(s"(SELECT $distinct$list FROM ${r.sql} ${fresh("t")})", all.map(_._1), r.rows)
  }

  /** Aggregates without GROUP BY. */
  private def total(r: RandomRelation): RandomRelation = {
    val (count, most) =
      (KindColumn(fresh("c"), "l"), KindColumn(fresh("c"), pick("i", "l", "dt", "s")))
    val value1 = value(r.columns, most.kind)
    RandomRelation(
      s"(SELECT count(*) FILTER (WHERE ${atom(r.columns)}) AS ${count.name}, " +
        s"${pick("max", "min")}(CASE WHEN ${atom(r.columns)} THEN $value1 END) AS ${most.name} " +
        s"FROM ${r.sql} ${fresh("t")})",
      Seq(count, most),
      1)
  }

  private def grouped(r: RandomRelation): RandomRelation = {
    val keys = Seq.fill(1 + random.nextInt(2))(KindColumn(fresh("c"), kindOf(r.columns)))
    val counted = KindColumn(fresh("c"), "l")
    val extreme = KindColumn(fresh("c"), pick("i", "l", "dt", "s"))
    val count = pick(
      "count(*)",
      s"sum(${value(r.columns, "i")})",
      s"count(DISTINCT ${value(r.columns, "s")})",
      s"1000 div count(${pick(r.columns: _*).name})")
    val list = keys.map(k => s"${value(r.columns, k.kind)} AS ${k.name}")
    // the keys get names first, because GROUP BY takes no constants
    val (x, from) = (KindColumn(fresh("c"), extreme.kind), fresh("t"))
    val inner =
      s"(SELECT *, ${(list :+ s"${value(r.columns, x.kind)} AS ${x.name}").mkString(", ")} " +
        s"FROM ${r.sql} ${fresh("t")}) $from"
    val by = keys.map(_.name).mkString(", ")
    val group = if (chance(15)) s"${pick("CUBE", "ROLLUP")} ($by)" else by
    val having = pick(
      "",
      "",
      s" HAVING count(*) ${pick("> 1", "< 3", "= 1")}",
      s" HAVING max(${x.name}) > ${literal(x.kind)}")
    RandomRelation(
      s"(SELECT $by, $count AS ${counted.name}, ${pick("max", "min")}(${x.name}) AS ${extreme.name} " +
        s"FROM $inner GROUP BY $group$having)",
      keys ++ Seq(counted, extreme),
      r.rows)
  }

  private def ranked(r: RandomRelation): RandomRelation = {
    val rank = KindColumn(fresh("c"), pick("i", "l"))
    val by = value(r.columns, kindOf(r.columns))
    val all = r.columns.map(_.name).mkString(", ")
    val function = pick(
      s"row_number() OVER (PARTITION BY $by ORDER BY $all)",
      s"rank() OVER (PARTITION BY $by ORDER BY ${pick(r.columns: _*).name})",
      s"dense_rank() OVER (PARTITION BY $by ORDER BY $all)",
      s"count(*) OVER (PARTITION BY $by)",
      s"sum(${value(r.columns, "i")}) OVER (PARTITION BY $by)",
      s"count(*) OVER (PARTITION BY $by ORDER BY ${pick(r.columns: _*).name})",
      s"coalesce(lag(${value(r.columns, "i", 0)}) OVER (PARTITION BY $by ORDER BY $all), 1)",
      s"rank() OVER (ORDER BY $all)")
    val ranks = s"(SELECT *, cast($function AS ${typeOf(rank.kind)}) AS ${rank.name} " +
      s"FROM ${r.sql} ${fresh("t")})"
    val kept = if (chance(60)) s" WHERE ${rank.name} <= ${1 + random.nextInt(3)}" else ""
    RandomRelation(s"(SELECT * FROM $ranks ${fresh("t")}$kept)", r.columns :+ rank, r.rows)
  }

  private def united(depth: Int): RandomRelation = {
    val (a, b) = (relation(depth - 1), relation(depth - 1))
    val columns = Seq.fill(1 + random.nextInt(2))(KindColumn(fresh("c"), kindOf(a.columns)))
    def some(r: RandomRelation) = columns
      .map(c => s"${value(r.columns, c.kind)} AS ${c.name}")
      .mkString("SELECT ", ", ", s" FROM ${r.sql} ${fresh("t")}")
    val operator =
      pick("UNION ALL", "UNION ALL", "UNION", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL")
    RandomRelation(s"(${some(a)} $operator ${some(b)})", columns, a.rows + b.rows)
  }

  private def top(r: RandomRelation): RandomRelation = {
    val offset = if (chance(30)) s" OFFSET ${random.nextInt(9)}" else ""
    r.copy(sql = s"(SELECT * FROM ${r.sql} ${fresh("t")} ORDER BY ${r.columns
        .map(_.name + pick("", " DESC", " NULLS LAST")).mkString(", ")} LIMIT ${random.nextInt(60)}$offset)")
  }

  private def exploded(r: RandomRelation): RandomRelation = {
    val made = KindColumn(fresh("c"), kindOf(r.columns))
    def e = value(r.columns, made.kind)
    if (chance(25)) {
      val n = random.nextInt(240)
      val days = KindColumn(fresh("c"), "dt")
      RandomRelation(
        s"(SELECT explode(sequence(${valueOf("dt", s"$n")}, ${valueOf("dt", s"${n + 9}")})) AS ${days.name})",
        Seq(days),
        10)
    } else RandomRelation(
      s"(SELECT * FROM ${r.sql} ${fresh("t")} LATERAL VIEW ${pick("explode", "explode", "OUTER explode")}" +
        s"(array($e, $e)) ${fresh("v")} AS ${made.name} WHERE ${atom(r.columns :+ made)})",
      r.columns :+ made,
      r.rows * 2)
  }

  /** Two projections of one common table expression, joined. */
  private def twice(depth: Int): RandomRelation = {
    val (r, name) = (relation(depth - 1), fresh("w"))
    def again = {
      val columns = r.columns.map(c => KindColumn(fresh("c"), c.kind))
      val list = r.columns.zip(columns).map { case (a, b) => s"${a.name} AS ${b.name}" }
      val where = if (chance(60)) s" WHERE ${filter(r.columns, depth - 1)}" else ""
      RandomRelation(s"(SELECT ${list.mkString(", ")} FROM $name$where)", columns, r.rows)
    }
    val (a, b) = (again, again)
    val both = join(a, b)
    val third = if (chance(60)) join(both, relation(depth - 2, 10)) else both
    third.copy(sql = s"(WITH $name AS ${r.sql} SELECT * FROM ${third.sql} ${fresh("t")})")
  }

  private def lateral(depth: Int): RandomRelation = {
    val (a, b) = unequal(depth)
    val c = KindColumn(fresh("c"), "l")
    val condition = on(a.columns, b.columns, a.rows * b.rows)._1
    val sub = pick(
      s"SELECT count(*) AS ${c.name}",
      s"SELECT sum(${value(b.columns, "l")}) AS ${c.name}",
      s"SELECT ${value(b.columns, "l")} AS ${c.name}")
    val kind = pick(",", " LEFT JOIN", " JOIN")
    RandomRelation(
      s"(SELECT * FROM ${a.sql} ${fresh("t")}$kind LATERAL ($sub FROM ${b.sql} ${fresh("t")} " +
        s"WHERE $condition) ${fresh("v")})",
      a.columns :+ c,
      a.rows * 2)
  }

  private def join(depth: Int): RandomRelation = {
    val (a, b) = unequal(depth)
    join(a, b)
  }

  /** Two relations of which mostly one is large. */
  private def unequal(depth: Int): (RandomRelation, RandomRelation) = {
    val share = pick(85, 15)
    (relation(depth - 1, share), relation(depth - 1, 100 - share))
  }

  private def join(a: RandomRelation, b: RandomRelation): RandomRelation = {
    val (condition, isEqual) = on(a.columns, b.columns, a.rows * b.rows)
    val (l, r) = (fresh("t"), fresh("t"))
    // mostly a kind that drops rows of the larger side if they have no partner
    val outer = if (a.rows > b.rows) "RIGHT JOIN" else "LEFT JOIN"
    val dropping = if (a.rows > b.rows) "LEFT SEMI JOIN" else "LEFT ANTI JOIN"
    val kind =
      if (chance(75)) pick("JOIN", "JOIN", "JOIN", outer, dropping)
      else pick("LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")
    val hint = if (chance(75)) "" else s"/*+ ${pick(Hints: _*)}(${pick(l, r)}) */ "
    val columns = if (kind.startsWith("LEFT S") || kind.startsWith("LEFT A")) a.columns
    else a.columns ++ b.columns
    RandomRelation(
      s"(SELECT $hint* FROM ${a.sql} $l $kind ${b.sql} $r ON $condition)",
      columns,
      if (isEqual) (a.rows + b.rows) * 2 else a.rows * b.rows / 2)
  }

  private def usingJoin(depth: Int): RandomRelation = {
    val (a, b) = unequal(depth)
    val key = KindColumn(fresh("c"), kindOf(a.columns))
    def side(r: RandomRelation) =
      s"(SELECT ${value(r.columns, key.kind)} AS ${key.name}, * FROM ${r.sql} ${fresh("t")}) ${fresh("t")}"
    val kind = pick("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
    RandomRelation(
      s"(SELECT * FROM ${side(a)} $kind ${side(b)} USING (${key.name}))",
      key +: (a.columns ++ b.columns),
      (a.rows + b.rows) * 2)
  }

  /** A query, which returns its rows, or their number and a checksum. */
  def query(depth: Int): String = {
    // in a join at the top, filters meet keys more often
    val r = if (chance(70)) join(depth) else relation(depth)
    val rows =
      if (r.rows < 20000 && chance(80)) "*"
      else s"count(*), sum(hash(${r.columns.map(_.name).mkString(", ")}))"
    s"SELECT $rows FROM ${r.sql} ${fresh("t")}"
  }
}

private[dynamic] object RandomJoins {

  /** More pairs of rows than this are joined by an equality only. */
  private val MostPairs = 12000L

  /** `x` is the field `st.x`. */
  val Kinds: Seq[String] =
    Seq("i", "i", "l", "d", "s", "s", "dt", "ts", "tn", "fl", "db", "b", "bo", "st", "x").distinct

  private val Hints = Seq("BROADCAST", "MERGE", "SHUFFLE_HASH", "SHUFFLE_REPLICATE_NL")

  private val Frequent =
    Seq("i", "l", "s", "dt", "ts", "i", "l", "s", "dt", "ts", "d", "x", "db", "b")

  /** Conditions that every row meets, but that Spark takes for different in each run. */
  private val Unsteady =
    Seq("rand() < 2", "uuid() > ''", "monotonically_increasing_id() >= 0", "randn(3) < 99")

  def typeOf(kind: String): String = kind match {
    case "i" | "x" => "INT"
    case "l" => "BIGINT"
    case "d" => "DECIMAL(12, 2)"
    case "s" => "STRING"
    case "dt" => "DATE"
    case "ts" => "TIMESTAMP"
    case "tn" => "TIMESTAMP_NTZ"
    case "fl" => "FLOAT"
    case "db" => "DOUBLE"
    case "b" => "BINARY"
    case "bo" => "BOOLEAN"
    case "st" => "STRUCT<x: INT, y: STRING>"
  }

  /** The kinds that can be compared with a kind or cast to it. */
  private def casts(kind: String): Seq[String] = kind match {
    case "i" | "l" | "d" | "fl" | "db" | "x" =>
      Seq("i", "l", "d", "fl", "db", "x", "s").filter(_ != kind)
    case "s" => Seq("i", "l", "d", "dt", "ts", "b")
    case "dt" => Seq("ts", "tn", "s")
    case "ts" => Seq("dt", "tn", "s")
    case "tn" => Seq("dt", "ts", "s")
    case "b" => Seq("s")
    case _ => Nil
  }

  /** The value of a kind for a whole number. Larger numbers have larger values, but for BOOLEANs. */
  def valueOf(kind: String, n: String): String = kind match {
    case "i" | "x" => s"int($n)"
    case "l" => s"bigint($n)"
    case "d" => s"cast($n AS DECIMAL(12, 2))"
    case "s" => s"format_string('%04d', $n)"
    case "dt" => s"date_add(date'2024-01-01', int($n % 10000))"
    case "ts" => s"cast(date_add(date'2024-01-01', int($n % 10000)) AS TIMESTAMP)"
    case "tn" => s"cast(date_add(date'2024-01-01', int($n % 10000)) AS TIMESTAMP_NTZ)"
    case "fl" => s"float($n)"
    case "db" => s"double($n)"
    case "b" => s"cast(format_string('%04d', $n) AS BINARY)"
    case "bo" => s"(int($n) % 2 = 0)"
    case "st" => s"named_struct('x', int($n), 'y', format_string('%04d', $n))"
  }
}
