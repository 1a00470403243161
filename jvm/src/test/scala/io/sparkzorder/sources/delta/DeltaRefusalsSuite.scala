// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.delta

import org.apache.logging.log4j.Level
import org.scalatest.tagobjects.Slow

/** Tables and clauses that OPTIMIZE refuses or leaves to Delta. */
class DeltaRefusalsSuite extends DeltaTestBase {

  /** True if Delta's own command ran: its result has no reason. */
  private def isDeltas(statement: String): Boolean =
    !sql(statement).collect().head.schema.fieldNames.contains("reason")

  test("INTO, unknown and partition columns, and columns without statistics", Slow) {
    withTables {
      sql("""CREATE TABLE t (id BIGINT, a INT, flag BOOLEAN, b INT, p INT) USING delta
        PARTITIONED BY (p) TBLPROPERTIES ('delta.dataSkippingNumIndexedCols' = '3')""")
      sql("INSERT INTO t SELECT id, id, true, id, 1 FROM range(10)")
      fails("ZORDER_UNSUPPORTED_TABLE", "INTO") {
        sql("OPTIMIZE TABLE t ZORDER BY (a, id) INTO '/tmp/none'")
      }
      fails("ZORDER_COLUMN_NOT_FOUND", "`nope`")(sql("OPTIMIZE TABLE t ZORDER BY (a, nope)"))
      fails("ZORDER_COLUMN_IS_PARTITION_COLUMN", "`p`")(sql("OPTIMIZE TABLE t ZORDER BY (a, p)"))
      fails("ZORDER_UNSUPPORTED_TABLE", "no statistics", "b", "dataSkippingStatsColumns") {
        sql("OPTIMIZE TABLE t ZORDER BY (a, b)")
      }
      fails("ZORDER_UNSUPPORTED_TABLE", "BOOLEAN")(sql("OPTIMIZE TABLE t ZORDER BY (a, flag)"))
      fails("ZORDER_UNSUPPORTED_TABLE", "no run of OPTIMIZE")(sql("UNDO LAYOUT t"))
      assert(version("t") === 1)
      sql("ALTER TABLE t SET TBLPROPERTIES ('zorder.columns' = 'a, id')")
      assert(metric(optimized("t", ""), "numRows") === 10)
      fails("ZORDER_UNSUPPORTED_TABLE", "RESTORE TABLE", "TO VERSION AS OF 2")(
        sql("UNDO LAYOUT t"))
    }
  }

  test("what Delta's command does not have is refused where Delta's command would run") {
    withTables {
      create("t", files = 2, rows = 10)
      val (path, before) = (log("t").dataPath.toUri.getPath, version("t"))
      for {
        table <- Seq("t", s"delta.`$path`")
        clause <- Seq("DRY RUN", "OPTIONS ('targetFileSize' '64m')", "INTO '/nowhere'")
        where <- Seq("", "WHERE id > 1 ")
      } {
        fails("ZORDER_UNSUPPORTED_TABLE", "no INTO, OPTIONS and DRY RUN", "name columns") {
          sql(s"OPTIMIZE TABLE $table $where$clause")
        }
      }
      withSQLConf("spark.zorder.formats.delta" -> "delegate") {
        for (table <- Seq("t", s"delta.`$path`")) {
          fails("ZORDER_UNSUPPORTED_TABLE", "spark.zorder.formats.delta = own") {
            sql(s"OPTIMIZE TABLE $table ZORDER BY (a) DRY RUN")
          }
        }
      }
      assert(version("t") === before)
    }
  }

  test(
    "Delta's command runs by the setting, without columns, and on tables with CLUSTER BY",
    Slow) {
    withTables {
      create("t", files = 2, rows = 10)
      withSQLConf("spark.zorder.formats.delta" -> "delegate") {
        assert(isDeltas("OPTIMIZE TABLE t ZORDER BY (a, b)"))
      }
      sql("ALTER TABLE t SET TBLPROPERTIES ('zorder.formats.delta' = 'delegate')")
      assert(isDeltas("OPTIMIZE TABLE t ZORDER BY (a, b)"))
      sql("ALTER TABLE t SET TBLPROPERTIES ('zorder.formats.delta' = 'own')")
      assert(isDeltas("OPTIMIZE TABLE t"))
      assert(!isDeltas("OPTIMIZE TABLE t ZORDER BY (a, b)"))
      sql("CREATE TABLE liquid (a INT, b INT) USING delta CLUSTER BY (a)")
      sql("INSERT INTO liquid SELECT id, id FROM range(10)")
      assert(isDeltas("OPTIMIZE TABLE liquid"))
      assert(intercept[Exception](sql("OPTIMIZE TABLE liquid ZORDER BY (a, b)").collect())
        .getMessage.contains("DELTA_CLUSTERING_WITH_ZORDER_BY"))
    }
  }

  test("a path that the session leaves to Delta is not opened", Slow) {
    withTables {
      create("t", "CLUSTER BY (a)", files = 1, rows = 10)
      val path = log("t").dataPath.toUri.getPath
      def said(): Boolean = {
        val lines = new LogAppender("opened tables")
        withLogAppender(lines, Seq(classOf[DeltaTables].getName), Some(Level.INFO)) {
          assert(isDeltas(s"OPTIMIZE TABLE delta.`$path`"))
        }
        lines.loggingEvents.exists(_.getMessage.getFormattedMessage.contains("left to Delta"))
      }
      assert(said())
      withSQLConf("spark.zorder.formats.delta" -> "delegate")(assert(!said()))
    }
  }

  test(
    "SHOW LAYOUT knows the columns of the last layout, of Delta's OPTIMIZE and of the property",
    Slow) {
    withTables {
      create("t", files = 4, rows = 400)
      def columns(name: String = "t"): Seq[String] =
        sql(s"SHOW LAYOUT $name").collect().map(_.getString(0)).toSeq
      assert(columns().contains("id"))
      sql("ALTER TABLE t SET TBLPROPERTIES ('zorder.columns' = 's, id')")
      assert(columns() === Seq("s", "id"))
      withSQLConf("spark.zorder.formats.delta" -> "delegate") {
        assert(isDeltas("OPTIMIZE TABLE t ZORDER BY (b)"))
      }
      assert(columns() === Seq("b"))
      sql("""ALTER TABLE t SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name',
        'delta.minReaderVersion' = '2', 'delta.minWriterVersion' = '5')""")
      optimized("t", "FULL ZORDER BY (a, s)")
      assert(columns() === Seq("a", "s"))
      sql("ALTER TABLE t RENAME COLUMN a TO `new a`")
      val path = log("t").dataPath.toUri.getPath
      for (name <- Seq("t", s"delta.`$path`", s"'$path'")) {
        assert(columns(name) === Seq("`new a`", "s"), name)
      }
    }
  }

  test("UNDO of a shallow clone names no version of the source", Slow) {
    withTables {
      create("t", files = 2, rows = 100)
      append("t", numbers(100, 200, 1))
      optimized("t")
      sql("CREATE TABLE copy SHALLOW CLONE t")
      fails("ZORDER_UNSUPPORTED_TABLE", "no run of OPTIMIZE")(sql("UNDO LAYOUT copy"))
      // the files are laid out as they are in the source
      val none = optimized("copy", "")
      assert(none.getAs[String]("reason").contains("laid out by (a, b)"))
      optimized("copy", "FULL ZORDER BY (b, a)")
      fails("ZORDER_UNSUPPORTED_TABLE", "TO VERSION AS OF 0")(sql("UNDO LAYOUT copy"))
    }
  }

  test("versions and features that are not known") {
    Seq("3.3.0", "3.3.3", "4.0.1", "4.4.0", "4.4.0-SNAPSHOT").foreach(v =>
      assert(DeltaTables.isKnown(v)))
    Seq("3.2.1", "2.4.0", "4.5.0", "5.0.0", "unknown").foreach(v =>
      assert(!DeltaTables.isKnown(v)))
    assert(DeltaTables.isKnown(io.delta.VERSION))
    // the class path has the version that the build names, not the one that the suite is compiled with
    assert(sys.props.get("sparkzorder.test.delta") === Some(io.delta.VERSION))
    val others = DeltaTables.unknown(Set("rowTracking", "catalogManaged", "later"))
    assert(others === Set("catalogManaged", "later"))
  }

  test("a table of a known version has no obstacle", Slow) {
    withTables {
      create("t", files = 1, rows = 10)
      assert(DeltaTables.obstacle(log("t").update()).isEmpty)
    }
  }
}
