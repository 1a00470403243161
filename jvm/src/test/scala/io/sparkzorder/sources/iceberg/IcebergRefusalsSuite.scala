// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.iceberg

import java.io.File
import java.nio.file.Files
import java.util.UUID

import org.apache.iceberg.{DataFile, DataFiles, IcebergBuild}
import org.scalatest.tagobjects.Slow

/** Tables and clauses that OPTIMIZE refuses, and what the errors advise. */
class IcebergRefusalsSuite extends IcebergTestBase {

  test("branches, older states and metadata tables") {
    withTables {
      create("t", files = 1, rows = 10)
      table("t").manageSnapshots().createBranch("b").commit()
      val first = snapshots("t").head.snapshotId
      for (name <- Seq("branch_b", s"snapshot_id_$first", "files", "snapshots")) {
        fails("ZORDER_UNSUPPORTED_TABLE")(sql(s"OPTIMIZE TABLE ice.db.t.$name ZORDER BY (a, b)"))
      }
      assert(snapshots("t").size === 1)
    }
  }

  test("INTO, publish, unknown columns, and no columns at all") {
    withTables {
      create("t", files = 1, rows = 10)
      fails("ZORDER_UNSUPPORTED_TABLE", "INTO")(
        sql(s"OPTIMIZE TABLE ice.db.t ZORDER BY (a, b) INTO '$warehouse/copy'"))
      fails("ZORDER_UNSUPPORTED_TABLE", "Leave publish out")(
        sql("OPTIMIZE TABLE ice.db.t ZORDER BY (a, b) OPTIONS ('publish' 'shadow')"))
      fails("ZORDER_COLUMN_NOT_FOUND", "`nope`")(sql("OPTIMIZE TABLE ice.db.t ZORDER BY (a, nope)"))
      fails("ZORDER_UNSUPPORTED_TABLE", "CALL ice.system.rewrite_data_files(table => 'db.t')")(
        sql("OPTIMIZE TABLE ice.db.t"))
      fails("ZORDER_PARTITION_TOO_LARGE") {
        withSQLConf(
          "spark.zorder.batchSize" -> "1b")(sql("OPTIMIZE TABLE ice.db.t ZORDER BY (a, b)"))
      }
      sql("ALTER TABLE ice.db.t SET TBLPROPERTIES ('zorder.columns' = 'a, b')")
      assert(sql("SHOW LAYOUT ice.db.t").collect().map(_.getString(0)).toSeq === Seq("a", "b"))
      assert(metric(optimized("t", ""), "numRows") === 10)
    }
  }

  test("a table is left to Iceberg where the setting tells so, or its version is unknown") {
    withTables {
      create("t", files = 1, rows = 10)
      table("t").manageSnapshots().createBranch("b").commit()
      withSQLConf("spark.zorder.formats.iceberg" -> "delegate") {
        // such a table is not opened: no branch of it is refused by our own rules
        for (branch <- Seq("", ".branch_b")) {
          fails("ZORDER_UNSUPPORTED_TABLE", "CALL ice.system.rewrite_data_files")(
            sql(s"OPTIMIZE TABLE ice.db.t$branch ZORDER BY (a, b)"))
        }
      }
      assert(snapshots("t").size === 1)
      Seq("1.10.0", "1.11.2", "1.12.0", "1.12.0-SNAPSHOT").foreach(v =>
        assert(IcebergTables.isKnown(v)))
      Seq("1.9.2", "1.1.0", "1.13.0", "2.0.0", "unknown").foreach(v =>
        assert(!IcebergTables.isKnown(v)))
      // the class path has the version that the build names, not the one that the suite is compiled with
      assert(sys.props.get("sparkzorder.test.iceberg") === Some(IcebergBuild.version()))
    }
  }

  test("UNDO names the statement that takes the last run back") {
    withTables {
      create("t", "PARTITIONED BY (p)", files = 1, rows = 100)
      val first = snapshots("t").head.snapshotId
      fails("ZORDER_UNSUPPORTED_TABLE", "no run of OPTIMIZE")(sql("UNDO LAYOUT ice.db.t"))
      optimized("t", "ZORDER BY (a, b) OPTIONS (batchSize = '1k')")
      assert(snapshots("t").size > 2)
      fails("ZORDER_UNSUPPORTED_TABLE", s"CALL ice.system.rollback_to_snapshot('db.t', $first)")(
        sql("UNDO LAYOUT ice.db.t"))
      numbers(100, 110, 1).writeTo("ice.db.t").append()
      fails("ZORDER_UNSUPPORTED_TABLE", "1 later commit of another writer")(
        sql("UNDO LAYOUT ice.db.t"))
    }
  }

  test("no plan with values of an encrypted table is stored") {
    withTables {
      create("t", "TBLPROPERTIES ('format-version' = '3', 'encryption.key-id' = 'key')", files = 8)
      val bytes = files("t").map(_.fileSizeInBytes).sum
      fails("ZORDER_PARTITION_TOO_LARGE") {
        withSQLConf("spark.zorder.batchSize" -> s"${bytes / 2}") {
          sql(
            s"OPTIMIZE TABLE ice.db.t ZORDER BY (a, b) OPTIONS (targetFileSize = '${bytes / 40}')")
        }
      }
      assert(!new File(warehouse, "db/t/_zorder").exists)
      assert(metric(optimized("t"), "numRows") === 8000)
      assert(!new File(warehouse, "db/t/_zorder").exists)
    }
  }

  test("a directory with the metadata of a catalog is not optimized by its path") {
    withTables {
      create("t", files = 2, rows = 100)
      val metadata = new File(warehouse, "db/t/metadata")
      def copied(name: String): File = {
        val copy = new File(metadata, name)
        Files.copy(new File(metadata, "v1.metadata.json").toPath, copy.toPath)
        copy
      }
      val id = UUID.randomUUID()
      val statement = s"OPTIMIZE TABLE parquet.`$warehouse/db/t` ZORDER BY (a, b)"
      for (name <-
          Seq(s"00002-$id.metadata.json", s"00002-$id.gz.metadata.json", "other.metadata.json")) {
        val file = copied(name)
        fails("ZORDER_UNSUPPORTED_TABLE", "iceberg")(sql(statement).collect())
        assert(snapshots("t").size === 1)
        assert(file.delete())
      }
      // what a commit leaves that was killed
      copied(s"$id.metadata.json")
      assert(metric(sql(statement).head(), "numRows") === 100)
    }
  }

  private def refusedAsTwice(clauses: String, file: DataFile): Unit = {
    val before = bag(spark.table("ice.db.t"))
    fails("ZORDER_UNSUPPORTED_TABLE", file.location, "INSERT OVERWRITE") {
      sql(s"OPTIMIZE TABLE ice.db.t $clauses").collect()
    }
    assert(bag(spark.table("ice.db.t")) === before)
    assert(orphans("t").isEmpty)
  }

  test("a file that the table lists twice is refused by its name, in a run and in a DRY RUN") {
    withTables {
      create("t", files = 4, rows = 400)
      optimized("t")
      val file = appendAgain("t")
      for (clauses <- Seq("", "ZORDER BY (a, b) DRY RUN")) refusedAsTwice(clauses, file)
      // files that the statement does not rewrite do not matter
      optimized("t", "WHERE a < 0 ZORDER BY (a, b)")
    }
  }

  test("INSERT OVERWRITE is a way out for a table that lists a file twice", Slow) {
    withTables {
      create("t", files = 4, rows = 400)
      val file = appendAgain("t")
      refusedAsTwice("ZORDER BY (a, b)", file)
      sql("INSERT OVERWRITE ice.db.t SELECT * FROM ice.db.t")
      assert(metric(optimized("t"), "numRows") === 400 + file.recordCount)
    }
  }

  test("a file that is listed in another partition as well is refused at the commit") {
    withTables {
      create("t", "PARTITIONED BY (p)", files = 1, rows = 400)
      val file = files("t").find(_.partition.get(0, classOf[java.lang.Long]) == 0L).get
      val copy = DataFiles.builder(table("t").spec).copy(file).withPartitionPath("p=1").build()
      table("t").newAppend().appendFile(copy).commit()
      sql("CALL ice.system.rewrite_manifests('db.t')").collect()
      refusedAsTwice("FULL WHERE p = 0 ZORDER BY (a, b)", file)
    }
  }

  test("a file that another writer lists a second time during the run is refused at the commit") {
    withTables {
      create("t", files = 2, rows = 400)
      val file = files("t").minBy(_.location)
      fails("ZORDER_UNSUPPORTED_TABLE", file.location) {
        optimizeWith("t", table("t")) { val _ = appendAgain("t") }
      }
      assert(spark.table("ice.db.t").count() === 400 + file.recordCount)
      assert(orphans("t").isEmpty)
    }
  }
}
