// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import scala.util.Try

import org.apache.spark.sql.catalyst.expressions.{Alias, BindReferences}
import org.apache.spark.sql.catalyst.plans.logical.Project
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.functions.expr
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.types.StructType

import io.sparkzorder.skipping.SkippingTestBase
import io.sparkzorder.table.{ParquetFiles, PathTarget, TableLister}
import io.sparkzorder.table.stats.FooterReader

/**
 * The rules of [[PredicateCompiler]] on files of one kind of data each: predicates that keep the file and
 * predicates that prune it. Where Spark's own expressions find a row that matches, the file must be kept.
 */
class PredicateCompilerSuite extends SkippingTestBase {

  /**
   * @param data a query with the rows of the file
   * @param hits predicates that keep it, between semicolons
   * @param misses predicates that prune it, likewise
   */
  private def testSkipping(name: String, data: String)(hits: String, misses: String): Unit =
    test(name) {
      inConf("spark.sql.parquet.outputTimestampType" -> "TIMESTAMP_MICROS") {
        withTableDir { dir =>
          filesOf(dir, sql(data))
          val files = new TableLister(
            SparkLine.session(spark),
            PathTarget(dir.getPath, ParquetFiles)).list().files
          // each read of a path infers a schema, by a job
          val table = read(dir)
          val conf = spark.sessionState.newHadoopConf()
          val footers = FooterReader.read(files, conf, ParquetFiles)
          val rows = sql(data).queryExecution.executedPlan.executeCollect()
          def each(predicates: String) = predicates.stripMargin.split(';').map(_.trim).toSeq
          val all = each(hits).map(_ -> true) ++ each(misses).map(_ -> false)
          // a plan for all of them, as the optimizer leaves conditions that it does not push down
          val Project(conditions, child) = table
            .select(all.map { case (p, _) =>
              expr(p).as("p")
            }: _*).queryExecution.optimizedPlan: @unchecked
          val output = child.output
          val filter = new FilterOnFooters(
            output,
            DataTypeUtils.fromAttributes(output),
            new StructType(),
            SparkLine.session(spark).sessionState.conf)
          all.zip(conditions).foreach { case ((predicate, isHit), named) =>
            val condition = named match {
              case Alias(e, _) => e
              case other => other
            }
            val bound = BindReferences.bindReference(condition, output)
            // a row for which the predicate raises an error does not match
            val matches = rows.exists(r => Try(bound.eval(r) == true).getOrElse(false))
            val kept = filter(Seq(condition), footers).get(0)
            assert(kept || !matches, s"a row that matches is lost: $predicate")
            assert(kept === isHit, predicate)
          }
        }
      }
    }

  testSkipping(
    "integers from 10 to 20",
    "SELECT cast(id as int) c, id l FROM range(10, 21)")(
    hits = """c = 10; c = 20; 12 = c; c <=> 15; c < 11; c <= 10; c > 19; c >= 20; 11 > c; 10 >= c;
      |19 < c; 20 <= c; c >= 0 AND c <= 10; c IN (1, 20);
      |c IN (1, 20, NULL); c NOT IN (10, 20); c != 15; NOT (c = 10); NOT (c < 20);
      |NOT (c <=> 15); c IS NOT NULL; NOT (c IS NULL); NOT (c <=> NULL); c = 15L; l = 15;
      |cast(c as double) > 19.5; c < 10.5;
      |c = l; true""",
    misses =
      """c = 9; c = 21; c <=> 21; c < 10; c <= 9; c > 20; c >= 21; 10 > c; 20 < c;
      |c >= 21 AND c <= 30; c >= 20 AND c <= 10; c IN (1, 2, 30); c IS NULL; c <=> NULL; NOT (c IS NOT NULL);
      |c = NULL; c < NULL; c IN (NULL); NOT (c IN (15, NULL)); NOT (c <= 20);
      |c > 20.5; c = 15.5; c + 1 = 100; c < -9223372036854775808; l > 9223372036854775807; false;
      |cast(null as boolean)""")

  testSkipping(
    "AND, OR and NOT",
    "SELECT id a, id + 100 b FROM range(10, 21)")(
    hits =
      """a = 15 AND b = 115; a = 15 OR b = 1; a = 15 AND hash(a, b) = 7; a = 1 OR hash(a, b) = 7;
      |NOT (a = 1 AND b = 1); NOT (a = 15 AND b = 1); NOT (a < 10 OR b < 110);
      |a = 1 OR a = 2 OR a = 20; NOT (NOT (a = 10))""",
    misses = """a = 1 AND b = 115; a = 15 AND b = 1; a = 1 OR b = 1; a = 1 AND hash(a, b) = 7;
      |a = 1 OR (b = 115 AND a > 20); NOT (a >= 10 AND b >= 110);
      |NOT (a > 9 OR hash(a, b) = 7); NOT (NOT (a = 9)); NOT (a = 15 OR a != 15)""")

  testSkipping(
    "one value alone",
    "SELECT 7 c, 'x' s, 7d d FROM range(3)")(
    hits = """c = 7; NOT (c = 8); c NOT IN (6, 8); s = 'x'; s != 'y'; NOT (s LIKE 'y%'); d != 8d""",
    misses = """c != 7; c NOT IN (6, 7, 8); NOT (c <=> 7); s != 'x'; s NOT IN ('w', 'x');
      |s NOT LIKE 'x%'; NOT startswith(s, ''); d != 7d""")

  testSkipping(
    "rows in their order",
    "SELECT cast(if(id = 0, null, id) as int) c, cast(id as int) d FROM range(0, 5)")(
    hits =
      """(c, d) > (3, 9); (c, d) >= (4, 9); (4, 0) < (c, d); (c, d) < (1, 0); (c, d) < (-5, 0);
      |NOT ((c, d) > (-5, 0)); NOT ((c, d) < (4, 9)); (d, c) <= (0, 0); (c, d) >= (cast(null as int), 0)""",
    misses = """(c, d) > (5, 0); (c, d) >= (9, 9); (9, 0) < (c, d); NOT ((c, d) < (5, 0));
      |(d, c) < (-1, 9); NOT ((d, c) > (-1, 9)); (d, c) <= (cast(null as int), 0)""")

  testSkipping(
    "NULL beside values",
    "SELECT if(id = 0, null, id) c FROM range(0, 5)")(
    hits = """c IS NULL; c IS NOT NULL; NOT (c <=> 3); NOT (c <=> 9); c <=> NULL; c != 9""",
    misses = """c = 9; c <=> 9; c IN (9, NULL); c NOT IN (1, NULL); c < 1""")

  testSkipping(
    "NaN of a function, and of a column beside a list with NULL",
    "SELECT cast(id as int) c, if(id = 2, double('NaN'), double(id)) d FROM range(0, 3)")(
    hits =
      """isnan(power(c, double('Infinity'))); power(c, double('Infinity')) > double('Infinity');
      |d NOT IN (.5d, 1.5d, 2.5d, 3.5d, 4.5d, 5.5d, 6.5d, 7.5d, 8.5d, 9.5d, 10.5d, NULL)""",
    misses = """power(c, 2d) > 5; c NOT IN (5, NULL)""")

  testSkipping(
    "NaN of a function between two values that have none",
    "SELECT cast(id as int) c, double(id) d FROM range(-2, 3)")(
    hits =
      """isnan(c * double('Infinity')); isnan(d * double('Infinity')); c * double('Infinity') = double('NaN');
      |d * double('-Infinity') > double('Infinity'); isnan(power(c, double('-Infinity')));
      |isnan(d % double('Infinity')) OR d = 0; isnan(double('Infinity') * c + c);
      |isnan(c * c * double('Infinity')); isnan(atan2(d, 0d) * 0d * double('Infinity'))""",
    misses = """c * 2d > 5""")

  testSkipping(
    "NULL alone",
    "SELECT cast(null as int) c, cast(null as string) s FROM range(3)")(
    hits = """c IS NULL; c <=> NULL; NOT (c <=> 1); s IS NULL; coalesce(c, 1) = 1""",
    misses = """c = 1; c != 1; NOT (c = 1); c IS NOT NULL; c IN (1, 2); c NOT IN (1, 2); c <=> 1;
      |s LIKE 'a%'; s NOT LIKE 'a%'; s >= ''""")

  testSkipping(
    "text",
    "SELECT explode(array('bar', 'baz', 'foo')) s")(
    hits =
      """s LIKE 'ba%'; s LIKE 'bar'; s LIKE 'b_r'; s LIKE 'c%x'; s LIKE '%zzz';
      |s NOT LIKE 'ba%'; s NOT LIKE 'z%z'; startswith(s, 'f'); startswith(s, '');
      |NOT startswith(s, 'b'); s > 'bazaar'; s < 'bas'; s IN ('a', 'c'); upper(s) = 'BAZ'; trim(s) = 'baz'""",
    misses =
      """s LIKE 'a%'; s LIKE 'fooo%'; s LIKE 'g_'; s = 'ba'; s < 'bar'; s > 'foo';
      |s IN ('a', 'z'); startswith(s, 'fop'); NOT startswith(s, ''); upper(s) = 'X'; trim(s) = 'x'""")

  testSkipping(
    "numbers in texts",
    "SELECT explode(array('15', '16', '17')) s")(
    hits =
      """int(s) >= 10 AND int(s) <= 15; int(s) > 15 AND int(s) < 17; s = 17; s >= 100; 15 <= int(s);
      |NOT (int(s) >= 1 AND int(s) <= 12); NOT ((int(s) >= 1 AND int(s) <= 12) OR s = 'x');
      |CASE WHEN (int(s) >= 1 AND int(s) <= 12) OR s = 'x' THEN 1 ELSE 2 END = 2;
      |int(s) >= 20 AND int(s) <= 29 OR int(s) >= 16 AND int(s) <= 16""",
    misses =
      """int(s) >= 20 AND int(s) <= 29; s = 20; s = 99; int(s) >= 20 AND int(s) < 30 AND int(s) != 25;
      |int(s) >= 20 AND int(s) <= 29 OR int(s) >= 30 AND int(s) <= 39;
      |NOT (int(s) < 20 OR int(s) > 29)""")

  testSkipping(
    "text behind one prefix",
    "SELECT concat('ab', id) s FROM range(1, 5)")(
    hits = """s LIKE 'ab%'; s LIKE 'a%'; NOT (s LIKE 'ab1%'); s LIKE 'ab1'""",
    misses = """s NOT LIKE 'a%'; s NOT LIKE 'ab%'; s LIKE 'ac%'; NOT startswith(s, 'ab')""")

  testSkipping(
    "doubles without NaN",
    "SELECT cast(id as double) d, cast(id as float) f FROM range(-2, 3)")(
    hits = """d = 0; d = -0.0d; d <= -2; d > 1.5; f < -1; cast(f as double) >= 2; NOT isnan(d)""",
    misses = """d > 2; d = 2.5; d < -2; d = double('NaN'); d >= double('Infinity'); f > 2;
      |NOT (d <= 2); d IN (7, double('NaN')); isnan(d)""")

  testSkipping(
    "NaN",
    "SELECT explode(array(1d, double('NaN'))) d")(
    hits = """d = double('NaN'); d > 5; d >= double('NaN'); NOT (d <= 5); d != 1; d = 7""",
    misses = """d IS NULL; d < double('-Infinity') AND d IS NULL""")

  testSkipping(
    "decimals",
    "SELECT cast(id as decimal(9,2)) m, cast(id as decimal(25,2)) w FROM range(10, 21)")(
    hits = """m = 10; m > 19.995; m < 10.01; w = 20; w <= cast(10 as decimal(38,6));
      |m NOT IN (10, 20); w NOT IN (10, 20)""",
    misses = """m = 99999999999; m = 10.005; m > 20; m < 9.999; w > 20.001; w = 9.99;
      |w IN (1, 2, 10.005)""")

  testSkipping(
    "dates, times, booleans and fields of structs",
    """SELECT date'2020-01-01' + cast(id as int) d, timestamp_seconds(id) t, id > 100 b,
      |named_struct('x', id) n FROM range(0, 10)""".stripMargin)(
    hits = """d = '2020-01-10'; d >= date'2020-01-10'; t < timestamp'1970-01-01 00:00:01Z'; NOT b;
      |b = false; n.x = 9; year(d) = 2020""",
    misses =
      """d > date'2020-01-10'; t >= timestamp'1970-01-01 00:00:10Z'; b; b = true; NOT (NOT b);
      |n.x = 10; n.x IS NULL; year(d) = 1999""")

  testSkipping(
    "timestamps of February 2024, and functions of them",
    """SELECT timestamp'2024-02-10 12:00:00' + make_dt_interval(cast(id as int)) t,
      |timestamp_ntz'2024-02-10 12:00:00' + make_dt_interval(cast(id as int)) n,
      |date'2024-02-10' + cast(id as int) d FROM range(0, 10)""".stripMargin)(
    hits = """year(t) = 2024; year(t) = 2024 AND month(t) = 2; month(t) = 2; month(t) IN (1, 2);
      |month(t) <> 2 OR year(t) < 2025; cast(t as date) IN (date'2024-02-12', date'1999-01-01');
      |to_date(t) = date'2024-02-19'; date_trunc('DAY', t) = timestamp'2024-02-12 00:00:00';
      |date_trunc('MONTH', t) = timestamp'2024-02-01 00:00:00'; trunc(t, 'MM') = date'2024-02-01';
      |date_format(t, "yyyy'MM'dd") = '2024MM12'; date_format(t, "yyyy-'MM'-dd") < '2024-MM-11';
      |date_format(t, "yyyy-MM-dd'T'HH") > '2024-02-18T23';
      |date_format(t, 'yyyy-MM') = '2024-02'; cast(t as string) LIKE '2024-02-1%';
      |substring(cast(t as string), 1, 7) = '2024-02'; t + interval 1 day > '2024-02-20';
      |year(n) = 2024; cast(n as timestamp) < '2024-02-11'; quarter(d) = 1; dayofweek(d) = 1;
      |d + 1 = date'2024-02-11'; date_sub(d, 9) = date'2024-02-10'; last_day(d) = '2024-02-29';
      |datediff(d, date'2024-02-01') = 9; NOT (year(t) < 2024); NOT (year(t) = 2023);
      |year(t) <=> 2024; NOT (year(t) <=> 2023); year(t) IS NOT NULL;
      |d < timestamp'2024-02-10 00:00:01'; unix_timestamp(t) > 0; hour(t) = 3;
      |extract(DAY FROM d) = 19""",
    misses = """year(t) = 2023; year(t) <> 2024; NOT (year(t) = 2024); month(t) = 3;
      |year(t) = 2024 AND month(t) = 3; month(t) NOT IN (1, 2); year(t) = NULL;
      |cast(t as date) IN (date'2024-02-09', date'2024-02-20'); to_date(t) > date'2024-02-19';
      |date_trunc('DAY', t) = timestamp'2024-02-09 00:00:00';
      |date_trunc('MONTH', t) <> timestamp'2024-02-01 00:00:00'; trunc(t, 'MM') = date'2024-03-01';
      |date_format(t, "yyyy-MM-dd'T'HH") > '2024-02-20T00';
      |date_format(t, 'yyyy-MM') = '2024-03'; cast(t as string) LIKE '2024-03%';
      |substring(cast(t as string), 1, 7) < '2024-02'; t + interval 1 hour < '2024-02-10';
      |year(n) > 2024; cast(n as timestamp) < '2024-02-08'; quarter(d) = 2;
      |d + 1 = date'2024-02-10'; date_sub(d, 9) = date'2024-02-11'; last_day(d) = '2024-03-31';
      |datediff(d, date'2024-02-01') = 8; NOT (year(t) <=> 2024); extract(DAY FROM d) = 20;
      |d < timestamp'2024-02-10 00:00:00'; unix_timestamp(t) < 0""")

  testSkipping(
    "arithmetic with integers at both ends of their type",
    "SELECT 2147483640 + cast(id as int) c, -9223372036854775800 - id l FROM range(0, 7)")(
    hits = """c + 1 = 2147483647; c - 1 = 2147483640; c * 2 < 7; c + 10 < 0; -c < 0;
      |l - 10 > 0; l + 1 = -9223372036854775799; l * 1000 = 5; cast(c as bigint) + 10 > 2147483650;
      |c / 2 > 1073741820; c div 10 = 214748364; 10 - c < 0; cast(c as smallint) = 7""",
    misses = """c - 1 = 7; c - 1 < 0; -c > 0; l + 1 > 0; cast(c as bigint) + 10 < 2147483650;
      |c div 10 = 5; cast(c as bigint) * 2 = 7; c / 2 < 100; 10 - cast(c as bigint) > 0""")

  testSkipping(
    "COALESCE, IF and CASE",
    "SELECT if(id = 0, null, id) a, id b, int(null) n FROM range(0, 10)")(
    hits = """coalesce(a, 77) = 77; coalesce(a, 77) > 9; coalesce(a, 0) = 5; coalesce(a, b) = 9;
      |NOT (coalesce(a, 77) < 10); nvl(a, -1) = -1; coalesce(a, -1) < 1; coalesce(b, 77) < 3;
      |CASE WHEN a < 5 THEN 'low' WHEN a < 8 THEN 'mid' ELSE 'high' END = 'high';
      |CASE WHEN b < 5 THEN 'low' WHEN b < 8 THEN 'mid' END = 'mid'; if(a > 3, b, 55) = 55;
      |CASE WHEN b < 5 THEN 'low' ELSE 'high' END IN ('high', 'x'); if(a IS NULL, 1, 2) = 1;
      |(a > 100) IS NOT TRUE; (b < 5) IS TRUE; NOT (coalesce(a, 3) <=> 3); nullif(b, 3) = 4""",
    misses =
      """coalesce(a, 77) = 78; coalesce(a, 77) > 9 AND coalesce(a, 77) < 77; coalesce(a, b) = 10;
      |coalesce(b, 77) = 77; CASE WHEN b < 10 THEN 'low' ELSE 'high' END = 'high';
      |CASE WHEN a < 5 THEN 'low' ELSE 'high' END = 'other'; if(a > 30, 1, 2) = 1;
      |CASE WHEN b > 50 THEN 'low' WHEN b > 80 THEN 'mid' END = 'mid'; (b > 100) IS TRUE;
      |(b < 100) IS NOT TRUE; if(b > 30, b, 55) = 54; nullif(b, 3) = 10""")

  testSkipping(
    "rows of values and two columns",
    """SELECT id a, id + 100 b, cast(id as int) + 5 c, 'k' || id s, if(id = 1, null, 'l') t,
      |cast(id as double) d, double('NaN') x FROM range(0, 10)""".stripMargin)(
    hits =
      """(a, b) IN ((1L, 101L), (50L, 2L)); (a, s) IN ((9L, 'k9')); (a, b) = struct(3L a, 103L b); a < b;
      |a <= c; a = c; a != c; NOT (a < c); c > a; b > a; s < t; NOT (a = b); a <=> c; d < x; x > d;
      |a + 1 < c; (a, b) NOT IN ((1L, 101L))""",
    misses =
      """(a, b) IN ((1L, 2L), (50L, 101L)); (a, s) IN ((9L, 'x'), (77L, 'k1')); (a, b) = struct(3L a, 3L b);
      |a > b; a = b; NOT (a < b); b <= c; NOT (b > c); s > t; NOT (a != b); a >= b""")

  testSkipping(
    "expressions with several columns",
    """SELECT cast(id as int) a, cast(100 + id * 10 as int) b, if(id = 1, null, 1) n, 2147483640 + cast(id as int) big,
      |'k' || id s, if(id = 1, null, 'l') t, cast(id as double) d, double('NaN') x, date_add(date'2024-01-01', int(id)) day,
      |cast(id as decimal(20,2)) m FROM range(0, 8)""".stripMargin)(
    hits =
      """a + b > 170; a + b = 100; b - a < 104; a * b >= 1190; a + b IN (1, 122); NOT (a + b <> 111); b - a * 2 = 108;
      |a + big = -2147483648; a + big > 0; a - big < -2147483633; a + n = 8; coalesce(a + n, 50) = 50; (a + b) IS NOT NULL;
      |a + n IS NULL; a + n <=> NULL; a + x > 5; d - x <=> double('NaN'); d * a = 49; b / (a - 3) = 110; b div a = 17;
      |a % 0 = b; a > b - 101; NOT (a + 100 < b); a + 1 = d + 1; m + a = 14; m * b > 1100; power(a - d, 2) < 1;
      |date_add(day, a) = date'2024-01-03'; concat(s, '-', t) = 'k2-l'; concat(s, t) IS NULL; concat_ws('-', t, s) = 'k1';
      |concat(s, b) > 'k7'; coalesce(t, s) = 'k1'; array_min(array(a, b)) = 7; array_max(array(a, n)) = 5;
      |sort_array(array(a, n))[0] IS NULL; sort_array(array(a, b), false)[0] = 170; array(a) = array(3);
      |array(a, b) != array(3, 5); elt(2, s, t) = 'l'; hash(a, b) = 1; hash(a) + b = 1""",
    misses =
      """a + b > 177; a + b < 100; b - a < 93; a * b > 1190; a + b IN (1, 178); a + b > NULL; b - a * 2 = 200;
      |a + n = 9; (a + b) IS NULL; (a + b) <=> NULL; d * a > 49; b div (a + 1) > 170; a > b + 1; NOT (a < b + 1);
      |a + 200 = d + 1; m + a = 15; m * b > 1190; date_add(day, a) > date'2024-01-15'; concat(s, '-', t) = 'l-l';
      |concat(s, b) > 'l'; array_min(array(a, b)) = 8; array_max(array(a, b)) = 99; sort_array(array(a, b))[0] > 7;
      |sort_array(array(a, b), false)[0] < 100; array(a) = array(9); elt(2, s, t) = 'm'; a - b > 0""")

  testSkipping("a NUL that is replaced in a text of digits", "SELECT id c FROM range(10, 100)")(
    hits =
      """substring(replace(cast(c as string), '\0', 'ab'), 2, 1) = '5'; replace(cast(c as string), '\0', 'ab') = '15'""",
    misses = "c > 200")

  testSkipping(
    "what texts begin with",
    "SELECT explode(array('C-001', 'C-002', 'C-01x')) c")(
    hits =
      """replace(c, '-', '') = 'C001'; replace(c, '-0', '') = 'C1x'; translate(c, 'C-', 'c') = 'c001'; ascii(c) = 67;
      |regexp_replace(c, '[^0-9]', '') = '002'; regexp_replace(c, '^C-', '') = '01x'; split_part(c, '-', 2) = '01x';
      |cast(split(c, '-')[1] as int) = 2; initcap(c) = 'C-001'; overlay(c PLACING 'X' FROM 2 FOR 1) = 'CX001';
      |rpad(c, 2, ' ') = 'C-'; rpad(c, 7, ' ') = 'C-002  '; lpad(c, 7, '*') = '**C-002'; lpad(c, 2, '*') = 'C-';
      |trim(LEADING 'C-' FROM c) = '001'; regexp_extract(c, '^(C-)', 1) = 'C-'; regexp_extract(c, '^(D)', 1) = '';
      |regexp_extract(c, '^C-([0-9]+)', 1) = '01'; regexp_extract(c, '^C-(.*)$', 1) = '01x'; regexp_extract(c, '^C-(7)', 1) = '';
      |regexp_extract(c, '^C\\-0?(.+)$', 1) = '02';
      |concat(left(c, 1), right(c, 1)) = 'Cx'; concat(substr(c, 1, 1), substr(c, 4, 2)) = 'C01'; lower(c) || c > 'c-00';
      |regexp_count(c, '^D') = 0; regexp_instr(c, '^C-0') = 1; cast(c as binary) = X'432D303031';
      |cast(replace(c, 'C-', '') as int) = 1; split_part(c, '0', 3) = '1'; substring_index(c, '0', 2) = 'C-0'""",
    misses =
      """replace(c, '-', '') = 'D001'; replace(c, '-', '') = 'C1'; replace(c, '-0', '') = 'D1'; translate(c, 'C', 'D') = 'C-001';
      |ascii(c) > 67; regexp_replace(c, '[^0-9]', '') = '1'; regexp_replace(c, '^C-', '') = '11'; split_part(c, '-', 2) = '1';
      |split(c, '-')[1] >= '1'; overlay(c PLACING 'X' FROM 2 FOR 1) = 'C-001'; rpad(c, 2, ' ') != 'C-';
      |rpad(c, 7, ' ') = 'C-1    '; lpad(c, 2, '*') = 'D-'; trim(LEADING 'C-' FROM c) = '1'; ascii(c) IS NULL;
      |regexp_extract(c, '^([A-Z])', 1) = 'D'; regexp_extract(c, '^C-([0-9]+)', 1) = '1';
      |regexp_extract(c, '^C\\-(.*)$', 1) > '02'; regexp_extract(c, '^D-(.*)', 1) = '01x'; concat(substr(c, 1, 1), substr(c, 3, 2)) = 'C1'; lower(c) || c > 'c-1';
      |regexp_count(c, '^D') > 0; cast(c as binary) = X'43'; upper(replace(c, '-', 'x')) = 'CX1'""")

  testSkipping(
    "beginnings of texts",
    "SELECT explode(array('abc', 'abd', 'ab')) s")(
    hits = """s RLIKE '^abc'; s RLIKE '^ab.*'; s RLIKE '^abcx?'; s RLIKE 'z'; s RLIKE '^z|a';
      |s RLIKE '^abd$'; NOT (s RLIKE '^abc'); s LIKE ANY ('x%', 'abd'); s LIKE ALL ('a%', 'ab%');
      |substring(s, 1, 2) = 'ab'; left(s, 3) > 'abc'; left(s, 5) = 'abc';
      |s NOT LIKE ANY ('ab', 'x%'); NOT (s LIKE ANY ('abc', 'abe%')); left(s, 1) IN ('a', 'z')""",
    misses =
      """s RLIKE '^abz'; s RLIKE '^x.*'; s RLIKE '^abx+'; NOT (s RLIKE '^a');
      |s LIKE ANY ('x%', 'z'); substr(s, 2, 1) = 'x'; s LIKE ALL ('a%', 'z%'); substring(s, 1, 2) = 'ac';
      |left(s, 3) > 'abd'; left(s, 2) != 'ab'; NOT (s LIKE ANY ('a%', 'x%')); s LIKE NULL;
      |s NOT LIKE ALL ('ab%', 'x'); left(s, 1) IN ('b', 'z')""")
}
