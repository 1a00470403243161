package io.sparkzorder.skipping.predicate

import org.apache.spark.sql.catalyst.expressions.{BindReferences, Expression, Predicate}
import org.apache.spark.sql.catalyst.optimizer.ConstantFolding
import org.apache.spark.sql.catalyst.plans.logical.Filter
import org.apache.spark.sql.catalyst.types.DataTypeUtils
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
          val conf = spark.sessionState.newHadoopConf()
          val footers = FooterReader.read(files, conf, ParquetFiles)
          val rows = sql(data).queryExecution.executedPlan.executeCollect()
          def check(predicate: String, isHit: Boolean): Unit = {
            val plan = ConstantFolding(read(dir).where(predicate).queryExecution.analyzed)
            val Some((condition, output)) = plan.collectFirst { case Filter(c, child) =>
              (c, child.output)
            }
            val filter = new FilterOnFooters(
              output,
              DataTypeUtils.fromAttributes(output),
              new StructType(),
              SparkLine.session(spark).sessionState.conf)
            val bound: Expression = BindReferences.bindReference(condition, output)
            val matches = rows.exists(Predicate.createInterpreted(bound).eval(_))
            val kept = filter(Seq(condition), footers).get(0)
            assert(kept || !matches, s"a row that matches is lost: $predicate")
            assert(kept === isHit, predicate)
          }
          def each(predicates: String) = predicates.stripMargin.split(';').map(_.trim)
          each(hits).foreach(check(_, isHit = true))
          each(misses).foreach(check(_, isHit = false))
        }
      }
    }

  testSkipping(
    "integers from 10 to 20",
    "SELECT cast(id as int) c, id l FROM range(10, 21)")(
    hits = """c = 10; c = 20; 12 = c; c <=> 15; c < 11; c <= 10; c > 19; c >= 20; 11 > c; 10 >= c;
      |19 < c; 20 <= c; c >= 0 AND c <= 10; c >= 20 AND c <= 10; c IN (1, 20);
      |c IN (1, 20, NULL); c NOT IN (10, 20); c != 15; NOT (c = 10); NOT (c < 20);
      |NOT (c <=> 15); c IS NOT NULL; NOT (c IS NULL); NOT (c <=> NULL); c = 15L; l = 15;
      |cast(c as double) > 19.5; c < 10.5; c + 1 = 100; c % 2 = 7; c = 15.5;
      |c = l; true""",
    misses = """c = 9; c = 21; c <=> 21; c < 10; c <= 9; c > 20; c >= 21; 10 > c; 20 < c;
      |c >= 21 AND c <= 30; c IN (1, 2, 30); c IS NULL; c <=> NULL; NOT (c IS NOT NULL);
      |c = NULL; c < NULL; c IN (NULL); NOT (c IN (15, NULL)); NOT (c <= 20);
      |c > 20.5; c < -9223372036854775808; l > 9223372036854775807; false;
      |cast(null as boolean)""")

  testSkipping(
    "AND, OR and NOT",
    "SELECT id a, id + 100 b FROM range(10, 21)")(
    hits = """a = 15 AND b = 115; a = 15 OR b = 1; a = 15 AND hash(b) = 7; a = 1 OR hash(b) = 7;
      |NOT (a = 1 AND b = 1); NOT (a = 15 AND b = 1); NOT (a < 10 OR b < 110);
      |a = 1 OR a = 2 OR a = 20; NOT (a = 15 OR a != 15); NOT (NOT (a = 10))""",
    misses = """a = 1 AND b = 115; a = 15 AND b = 1; a = 1 OR b = 1; a = 1 AND hash(b) = 7;
      |a = 1 OR (b = 115 AND a > 20); NOT (a >= 10 AND b >= 110);
      |NOT (a > 9 OR hash(b) = 7); NOT (NOT (a = 9))""")

  testSkipping(
    "one value alone",
    "SELECT 7 c, 'x' s, 7d d FROM range(3)")(
    hits = """c = 7; NOT (c = 8); c NOT IN (6, 8); s = 'x'; s != 'y'; NOT (s LIKE 'y%'); d != 8d""",
    misses = """c != 7; c NOT IN (6, 7, 8); NOT (c <=> 7); s != 'x'; s NOT IN ('w', 'x');
      |s NOT LIKE 'x%'; NOT startswith(s, ''); d != 7d""")

  testSkipping(
    "NULL beside values",
    "SELECT if(id = 0, null, id) c FROM range(0, 5)")(
    hits = """c IS NULL; c IS NOT NULL; NOT (c <=> 3); NOT (c <=> 9); c <=> NULL; c != 9""",
    misses = """c = 9; c <=> 9; c IN (9, NULL); c NOT IN (1, NULL); c < 1""")

  testSkipping(
    "NULL alone",
    "SELECT cast(null as int) c, cast(null as string) s FROM range(3)")(
    hits = """c IS NULL; c <=> NULL; NOT (c <=> 1); s IS NULL; coalesce(c, 1) = 1""",
    misses = """c = 1; c != 1; NOT (c = 1); c IS NOT NULL; c IN (1, 2); c NOT IN (1, 2); c <=> 1;
      |s LIKE 'a%'; s NOT LIKE 'a%'; s >= ''""")

  testSkipping(
    "text",
    "SELECT explode(array('bar', 'baz', 'foo')) s")(
    hits = """s LIKE 'ba%'; s LIKE 'bar'; s LIKE 'b_r'; s LIKE 'c%x'; s LIKE '%zzz';
      |s NOT LIKE 'ba%'; s NOT LIKE 'z%z'; startswith(s, 'f'); startswith(s, '');
      |NOT startswith(s, 'b'); s > 'bazaar'; s < 'bas'; s IN ('a', 'c'); upper(s) = 'X'""",
    misses = """s LIKE 'a%'; s LIKE 'fooo%'; s LIKE 'g_'; s = 'ba'; s < 'bar'; s > 'foo';
      |s IN ('a', 'z'); startswith(s, 'fop'); NOT startswith(s, '')""")

  testSkipping(
    "text behind one prefix",
    "SELECT concat('ab', id) s FROM range(1, 5)")(
    hits = """s LIKE 'ab%'; s LIKE 'a%'; NOT (s LIKE 'ab1%'); s LIKE 'ab1'""",
    misses = """s NOT LIKE 'a%'; s NOT LIKE 'ab%'; s LIKE 'ac%'; NOT startswith(s, 'ab')""")

  testSkipping(
    "doubles without NaN",
    "SELECT cast(id as double) d, cast(id as float) f FROM range(-2, 3)")(
    hits = """d = 0; d = -0.0d; d <= -2; d > 1.5; f < -1; cast(f as double) >= 2; isnan(d)""",
    misses = """d > 2; d = 2.5; d < -2; d = double('NaN'); d >= double('Infinity'); f > 2;
      |NOT (d <= 2); d IN (7, double('NaN'))""")

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
      |b = false; n.x = 9; year(d) = 1999""",
    misses =
      """d > date'2020-01-10'; t >= timestamp'1970-01-01 00:00:10Z'; b; b = true; NOT (NOT b);
      |n.x = 10; n.x IS NULL""")
}
