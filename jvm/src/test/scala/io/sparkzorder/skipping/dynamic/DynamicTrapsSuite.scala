// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.dynamic

import java.io.{File, FileNotFoundException}

import scala.util.{Failure, Success, Try}

import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.DataFrame

/** Plans in which a filter by the keys of a join could lose rows. */
class DynamicTrapsSuite extends StarTestBase {

  private val ofMonth = "SELECT f.*, d.month FROM fact f JOIN days d ON f.day = d.day " +
    "WHERE d.month = 3"

  private case class Way(adaptive: Boolean, broadcast: Boolean)

  /** The way of Spark's own settings, and all. */
  private val usual = Seq(Way(adaptive = true, broadcast = true))
  private val all = usual ++ Seq(
    Way(adaptive = false, broadcast = false),
    Way(adaptive = true, broadcast = false),
    Way(adaptive = false, broadcast = true))

  private var ways = usual

  /** Of CHAR columns by the reader; the slow tests ask with and without. */
  private def paddings: Seq[String] = if (ways == usual) Seq("true") else Seq("true", "false")

  /** Each third one for each change, and each in the slow tests. */
  private def some[T](of: Seq[T]): Seq[T] =
    if (ways == usual) of.indices.by(3).map(of) else of

  private def trap(name: String)(body: => Unit): Unit = {
    def in(chosen: Seq[Way]): Unit = {
      ways = chosen
      body
    }
    test(name)(in(usual))
    test(s"$name: all ways", Slow)(in(all))
  }

  // within everyWay, the rows of each query, which do not depend on the way
  private var known = Option.empty[Map[String, Map[Any, Int]]]

  private def everyWay(body: => Unit): Unit = {
    known = Some(Map.empty)
    try ways.foreach { way =>
        withClue(s"$way: ") {
          inConf("spark.sql.adaptive.enabled" -> way.adaptive.toString) {
            if (way.broadcast) body else withoutBroadcast(body)
          }
        }
      }
    finally known = None
  }

  /** Some queries for each change, and in the slow tests others as well. */
  private def same(telling: String*)(others: String*): Unit =
    sameRows(if (ways == usual) telling else telling ++ others)

  private def sameRows(queries: Seq[String]): Unit = queries.foreach { q =>
    val expected = known.flatMap(_.get(q)).getOrElse(withoutSkipping(bag(sql(q))))
    known = known.map(_ + (q -> expected))
    assert(bag(sql(q)) === expected, q)
  }

  /** A dimension whose filters the optimizer cannot fold away. */
  private def view(dir: File, name: String, query: String): Unit = {
    val path = new File(dir, name)
    sql(query).coalesce(1).write.parquet(path.getPath)
    spark.read.parquet(path.getPath).createOrReplaceTempView(name)
  }

  /** A table of integers; each group of rows is a file, and the index has them. */
  private def indexed(dir: File, name: String, groups: String*): Unit = {
    val path = new File(dir, name)
    filesOf(path, groups.map(sql): _*)
    createIndex(path)
    spark.read.parquet(path.getPath).createOrReplaceTempView(name)
  }

  private def thousands(column: String, from: Int*): Seq[String] =
    from.map(n => s"SELECT int(id) $column, 2 v FROM range($n, ${n + 1000})")

  trap("a default of the query's own in the place of NULL, below a null-safe join") {
    withTableDir { dir =>
      withTempView("few", "many", "keys") {
        indexed(dir, "many", "SELECT int(null) b, 1 v" +: thousands("b", 0, 20000, 40000): _*)
        view(dir, "few", "SELECT * FROM VALUES (-1), (0), (null) AS t(a)")
        view(dir, "keys", "SELECT * FROM VALUES (-1), (0), (5), (null) AS t(k)")
        val joins = Seq(
          "few JOIN many ON few.a = coalesce(many.b, -1)",
          "few JOIN many ON coalesce(few.a, 0) = coalesce(many.b, 0)",
          "few JOIN many ON coalesce(few.a, 20005) = many.b",
          "few JOIN many ON few.a <=> many.b",
          "many JOIN few ON few.a = coalesce(many.b, -1)",
          "many LEFT SEMI JOIN few ON few.a = coalesce(many.b, -1)")
        everyWay {
          for (join <- some(joins); key <- Seq("a", "b") if !join.contains("SEMI") || key == "b")
            same(s"SELECT * FROM $join JOIN keys ON $key <=> keys.k")(
              s"SELECT * FROM $join JOIN (SELECT * FROM keys WHERE k IS NOT NULL) c ON $key <=> c.k")
        }
      }
    }
  }

  trap("one of two subqueries, of which one is asked about NULL and another column") {
    withTableDir { dir =>
      withTempView("few", "many", "keys", "flags") {
        indexed(dir, "many", thousands("k", 0, 100000, 200000): _*)
        view(
          dir,
          "few",
          "SELECT 7 k, true flag UNION ALL SELECT 9, false UNION ALL SELECT null, true")
        view(dir, "keys", "SELECT 100005 k")
        view(dir, "flags", "SELECT true b")
        everyWay(same(
          "SELECT * FROM few WHERE k IN (SELECT k FROM many) AND (k IN (SELECT k FROM keys) " +
            "OR IF(k IS NULL, true, flag) IN (SELECT b FROM flags))")(
          "SELECT * FROM few WHERE k IN (SELECT k FROM many) AND (k IN (SELECT k FROM keys) " +
            "OR IF(k IS NULL, true, null) IN (SELECT b FROM flags))"))
      }
    }
  }

  trap("a cached dimension") {
    withStar { _ =>
      withTempView("month3") {
        sql("CACHE TABLE month3 AS SELECT day, month FROM days WHERE month = 3")
        everyWay(same("SELECT * FROM fact JOIN month3 USING (day)")(
          "SELECT * FROM fact WHERE day = (SELECT max(day) FROM month3)",
          "SELECT * FROM fact LEFT ANTI JOIN month3 USING (day)"))
      }
    }
  }

  trap("a cached result of a join stays what it was") {
    withStar { _ =>
      everyWay {
        val df = sql(ofMonth).cache()
        try {
          assert(df.count() === 100)
          assert(sql(ofMonth.replace("= 3", "= 4")).count() === 100)
          assert(sql(ofMonth).where("amount > 0").count() === 100)
        } finally df.unpersist(true)
      }
    }
  }

  trap("partition pruning of Spark and keys of ours in one scan") {
    withTable("parts") {
      withStar { _ =>
        sql("CREATE TABLE parts USING parquet PARTITIONED BY (p) AS " +
          "SELECT day, amount, int(day / 400) p FROM fact")
        sql("CREATE ZORDER INDEX ON parts").collect()
        everyWay(same(
          "SELECT * FROM parts x JOIN (SELECT *, int(month / 4) p FROM days) d " +
            "ON x.day = d.day AND x.p = d.p WHERE d.month IN (3, 5)")(
          "SELECT * FROM parts x JOIN items i ON x.p = i.item JOIN days d ON x.day = d.day " +
            "WHERE i.category = 0 AND d.month = 9",
          "SELECT * FROM parts x LEFT JOIN days d ON x.day = d.day AND d.month = 3 " +
            "WHERE x.p = (SELECT max(item) - 47 FROM items)"))
      }
    }
  }

  trap("a bucketed table") {
    withTable("buckets") {
      withStar { _ =>
        sql("CREATE TABLE buckets USING parquet CLUSTERED BY (item) SORTED BY (day) " +
          "INTO 4 BUCKETS AS SELECT day, item, amount FROM fact")
        sql("CREATE ZORDER INDEX ON buckets").collect()
        everyWay(same(
          "SELECT * FROM buckets b JOIN days d ON b.day = d.day WHERE d.month = 3",
          "SELECT * FROM buckets a JOIN buckets b ON a.item = b.item AND a.day = b.day " +
            "JOIN days d ON a.day = d.day WHERE d.month = 15")(
          "SELECT * FROM buckets b JOIN items USING (item) WHERE category = 99"))
      }
    }
  }

  trap("files that came after the index") {
    withStar { fact =>
      sql(s"REFRESH ZORDER INDEX ON '$fact'").collect()
      sql("SELECT * FROM fact WHERE day = 350").write.mode("append").parquet(fact.getPath)
      spark.read.parquet(fact.getPath).createOrReplaceTempView("fact")
      everyWay {
        same(ofMonth, "SELECT * FROM fact WHERE day = (SELECT max(dom) + 251 FROM days)")()
        assert(sql(ofMonth).count() === 101)
      }
    }
  }

  trap("OPTIMIZE and UNDO between planning and run") {
    withStar { fact =>
      val scalar = "SELECT * FROM fact WHERE day > (SELECT max(day) - 150 FROM days)"
      def planned(): Seq[DataFrame] = Seq(ofMonth, scalar).map { q =>
        val df = sql(q)
        df.queryExecution.executedPlan
        df
      }
      val expected = withoutSkipping(Seq(ofMonth, scalar).map(q => bag(sql(q))))
      everyWay {
        Seq(s"OPTIMIZE '$fact' ZORDER BY (item, day)", s"UNDO LAYOUT '$fact'").foreach { command =>
          val early = planned()
          sql(command).collect()
          // a run may fail because its files have gone, but must not lose a row
          early.zip(expected).foreach { case (df, rows) =>
            Try(bag(df)) match {
              case Success(found) => assert(found === rows, command)
              case Failure(e) => assert(isGone(e), command)
            }
          }
          spark.read.parquet(fact.getPath).createOrReplaceTempView("fact")
          assert(planned().map(bag) === expected, s"after $command")
        }
      }
    }
  }

  private def isGone(e: Throwable): Boolean =
    Iterator.iterate(e)(_.getCause).takeWhile(_ != null).take(9)
      .exists(c => c.isInstanceOf[FileNotFoundException] || s"$c".contains("NOT_EXIST"))

  trap("CHAR keys, keys in structs, decimals of other scale, zeros with signs") {
    withTable("typed") {
      withStar { fact =>
        sql("CREATE TABLE typed (c CHAR(9), s STRUCT<k: INT, c: STRING>, d DECIMAL(12, 2), " +
          "f DOUBLE, amount BIGINT) USING parquet")
        sql("INSERT INTO typed SELECT /*+ REPARTITION_BY_RANGE(8, day) */ code, " +
          "named_struct('k', day, 'c', code), day / 4, " +
          "IF(day % 400 = 0, -0.0D, day / 100), amount FROM fact")
        sql("CREATE ZORDER INDEX ON typed").collect()
        view(
          fact.getParentFile,
          "few",
          "SELECT code, cast(code AS CHAR(9)) c, day, cast(day / 4 AS DECIMAL(9, 1)) d1, " +
            "cast(day / 4 AS DECIMAL(20, 6)) d6, IF(dom < 50, 0.0D, double('NaN')) f, month " +
            "FROM days WHERE month IN (3, 8)")
        paddings.foreach { padding =>
          inConf("spark.sql.readSideCharPadding" -> padding)(everyWay(same(
            "SELECT * FROM typed t JOIN few ON t.c = few.c WHERE month = 3",
            "SELECT * FROM typed t JOIN few ON t.s.c = few.code AND t.s.k = few.day",
            "SELECT * FROM typed t JOIN few ON t.d = few.d6 WHERE month = 3",
            "SELECT t.amount, few.day FROM typed t JOIN few ON t.f = few.f WHERE month = 3")(
            "SELECT * FROM typed t JOIN few ON t.c = few.code WHERE month = 3",
            "SELECT * FROM typed t JOIN few ON t.c = rpad(few.code, 9, ' ')",
            "SELECT * FROM typed t JOIN few ON t.s.k = few.day WHERE month = 3",
            "SELECT * FROM typed t JOIN few ON t.s = named_struct('k', few.day, 'c', few.code)",
            "SELECT * FROM typed t JOIN few ON t.d = few.d1 WHERE month = 3",
            "SELECT * FROM typed t JOIN few ON cast(t.d AS int) = few.day WHERE month = 3",
            "SELECT * FROM typed t WHERE f = (SELECT min(f) FROM few)",
            "SELECT * FROM typed t WHERE d < (SELECT min(d6) FROM few)")))
        }
      }
    }
  }

  trap("ORC tables") {
    withTable("orcs") {
      withStar { _ =>
        sql("CREATE TABLE orcs USING orc AS SELECT * FROM fact")
        sql("CREATE ZORDER INDEX ON orcs").collect()
        everyWay(same(
          ofMonth.replace("fact", "orcs"))(
          "SELECT * FROM orcs JOIN days USING (code) WHERE month = 3",
          "SELECT * FROM orcs WHERE code >= (SELECT max(code) FROM days WHERE month = 14)"))
      }
    }
  }

  trap("NULL keys on both sides") {
    withStar { fact =>
      withTempView("f", "d") {
        val dir = new File(fact.getParentFile, "f")
        sql("SELECT *, IF(day % 3 = 0 OR day < 200, NULL, day) k FROM fact").write
          .parquet(dir.getPath)
        createIndex(dir)
        spark.read.parquet(dir.getPath).createOrReplaceTempView("f")
        view(
          fact.getParentFile,
          "d",
          "SELECT *, IF(dom = 5, NULL, day) k FROM days WHERE month IN (3, 4)")
        def joined(join: String, op: String) =
          s"SELECT count(*) FROM (SELECT f.k FROM f $join d ON f.k $op d.k AND d.month = 3)"
        val more = for {
          join <- Seq(
            "JOIN",
            "LEFT JOIN",
            "RIGHT JOIN",
            "FULL JOIN",
            "LEFT SEMI JOIN",
            "LEFT ANTI JOIN")
          op <- Seq("=", "<=>")
        } yield joined(join, op)
        everyWay(same(joined("RIGHT JOIN", "<=>"), joined("LEFT ANTI JOIN", "="))(more: _*))
        everyWay(same(
          "SELECT f.id, d.day FROM f JOIN d ON f.k <=> d.k WHERE d.dom = 5",
          "SELECT * FROM f WHERE k IN (SELECT k FROM d) OR k IS NULL",
          "SELECT * FROM f WHERE k <=> (SELECT max(k) FROM d WHERE month = 99)")(
          "SELECT * FROM f WHERE k NOT IN (SELECT k FROM d WHERE month = 3)",
          "SELECT * FROM f WHERE k NOT IN (SELECT k FROM d WHERE k IS NOT NULL)",
          "SELECT * FROM f WHERE (k IN (SELECT k FROM d)) IS NULL",
          "SELECT * FROM f WHERE NOT k <=> (SELECT max(k) FROM d WHERE month = 3)"))
      }
    }
  }

  trap("conditions beside the keys of a join") {
    withStar { fact =>
      withTempView("f", "g") {
        val dir = new File(fact.getParentFile, "f")
        sql("SELECT *, IF(day % 300 = 0, NULL, day) k FROM fact").write.parquet(dir.getPath)
        createIndex(dir)
        spark.read.parquet(dir.getPath).createOrReplaceTempView("f")
        view(fact.getParentFile, "g", "SELECT item, day k FROM fact WHERE day % 300 < 2")
        val ofMonth = "k IN (SELECT day FROM days WHERE month = 3)"
        def counts(condition: String) =
          s"SELECT item, count(*) FROM f WHERE $ofMonth OR $condition GROUP BY item"
        everyWay(same(
          // two scans with the same keys
          s"${counts("k = 5")} UNION ALL ${counts("k = 905")}",
          s"SELECT * FROM f WHERE $ofMonth OR IF(k IS NULL, true, k = 7)",
          s"SELECT * FROM f WHERE $ofMonth OR k = (SELECT max(day) FROM days WHERE month = 5)")(
          s"SELECT a.id, b.id FROM (SELECT * FROM f WHERE $ofMonth OR k = 5) a JOIN " +
            s"(SELECT * FROM f WHERE $ofMonth OR k = 905) b ON a.item = b.item",
          s"SELECT * FROM f WHERE $ofMonth OR k IS NULL",
          s"SELECT * FROM f JOIN g ON f.k <=> g.k WHERE f.$ofMonth OR IF(f.k IS NULL, true, NULL)",
          s"SELECT * FROM g LEFT JOIN f ON f.k = g.k WHERE f.$ofMonth OR f.k IS NULL",
          s"SELECT * FROM f WHERE $ofMonth OR NOT $ofMonth",
          s"SELECT * FROM f WHERE $ofMonth OR 7 / (k + 5) > 1",
          s"SELECT k, s FROM (SELECT k, sum(amount) s FROM f GROUP BY k) WHERE $ofMonth OR k = 5 OR s < 9"))
      }
    }
  }

  trap("correlated subqueries, limits, and operators between the scan and the join") {
    withStar { _ =>
      everyWay(same(
        "SELECT * FROM days d WHERE month = (SELECT count(*) + 2 FROM fact f WHERE f.day = d.day)",
        "SELECT count(*) FROM (SELECT * FROM fact ORDER BY day LIMIT 900 OFFSET 320) x " +
          "JOIN days d ON x.day = d.day WHERE d.month = 3",
        "SELECT * FROM (SELECT day, lag(day) OVER (ORDER BY day) p FROM fact) x JOIN days d " +
          "ON x.day = d.day WHERE d.month = 3",
        "SELECT a.id, b.id FROM fact a FULL JOIN fact b ON a.day = b.amount " +
          "JOIN days d ON b.day = d.day WHERE d.month = 3")(
        "SELECT * FROM fact f WHERE amount > (SELECT avg(month) FROM days d WHERE d.day = f.day)",
        "SELECT d.day, (SELECT max(amount) FROM fact f WHERE f.day = d.day) m FROM days d " +
          "WHERE d.month = 3",
        "SELECT count(*) FROM (SELECT * FROM fact ORDER BY day LIMIT 350) x JOIN days d " +
          "ON x.day = d.day WHERE d.month = 3",
        "SELECT * FROM fact JOIN (SELECT day FROM days ORDER BY day DESC LIMIT 7) USING (day)",
        "SELECT * FROM (SELECT day, count(*) OVER () n FROM fact) x JOIN days d " +
          "ON x.day = d.day WHERE d.month = 3",
        "SELECT * FROM (SELECT max(day) day, count(*) n FROM fact) x JOIN days d " +
          "ON x.day = d.day WHERE d.month = 15",
        "SELECT * FROM (SELECT day, count(*) n FROM fact GROUP BY ROLLUP (day)) x " +
          "JOIN days d ON x.day <=> d.day WHERE d.month = 3",
        "SELECT * FROM (SELECT day FROM fact EXCEPT SELECT day FROM fact WHERE item < 9) x " +
          "JOIN days d ON x.day = d.day WHERE d.month = 3",
        "SELECT a.id, b.id FROM fact a LEFT JOIN fact b ON a.day = b.day + 1 " +
          "JOIN days d ON a.day = d.day WHERE d.month = 3"))
    }
  }
}
