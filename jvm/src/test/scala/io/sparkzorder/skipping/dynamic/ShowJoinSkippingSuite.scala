// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.dynamic

/** SHOW SKIPPING lists the filters that get their values when the query runs. */
class ShowJoinSkippingSuite extends StarTestBase {

  private def filters(query: String): Seq[(String, Boolean, String)] =
    sql(s"SHOW SKIPPING FOR $query").where("table LIKE '%fact%'").collect().toSeq.map { r =>
      (r.getAs[String]("predicate"), r.getAs[Boolean]("used"), r.getAs[String]("reason"))
    }

  test("keys of joins and scalar subqueries") {
    withStar { _ =>
      bothWays {
        val later = "its values are known when the query runs"
        val ofJoin = filters("SELECT * FROM fact JOIN days USING (day) WHERE month = 3")
          .filter(_._1.contains("keys of a join"))
        assert(ofJoin.map(f => (f._2, f._3)) === Seq((true, later)))
        val scalar = filters("SELECT * FROM fact WHERE day = (SELECT max(day) FROM days)")
          .filter(_._1.contains("subquery"))
        assert(scalar.map(f => (f._2, f._3)) === Seq((true, later)))
        withoutDynamic {
          val off = filters("SELECT * FROM fact WHERE day = (SELECT max(day) FROM days)")
          assert(off.filter(_._1.contains("subquery")).forall(!_._2))
        }
      }
    }
  }

  test("a join that prunes the partitions of another format") {
    withStar { _ =>
      withTable("fact_csv") {
        sql("CREATE TABLE fact_csv USING csv PARTITIONED BY (day) AS " +
          "SELECT id, int(id % 4) day FROM range(8)")
        val rows = filters("SELECT * FROM fact_csv JOIN days USING (day) WHERE month = 0")
        assert(rows.map(_._2) === Seq(false))
        assert(rows.head._3.contains("not a scan of plain Parquet or ORC files: CSV"), rows)
      }
    }
  }
}
