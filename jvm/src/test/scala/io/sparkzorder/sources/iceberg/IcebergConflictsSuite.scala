// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.iceberg

import java.io.File
import java.lang.reflect.{InvocationHandler, Proxy}

import org.apache.iceberg.{BaseTable, TableMetadata, TableOperations, TableScan}
import org.apache.iceberg.exceptions.{
  CommitFailedException,
  CommitStateUnknownException,
  ValidationException
}
import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.types.IntegerType

import io.sparkzorder.rewrite.RewriteRunner
import io.sparkzorder.sources.{FormatConflictTests, OptimizeClauses}
import io.sparkzorder.table.OrderingColumn

/** What other writers do while OPTIMIZE has written its files and not yet committed them. */
class IcebergConflictsSuite extends IcebergTestBase with FormatConflictTests {
  private val mergeOnRead = "TBLPROPERTIES ('write.delete.mode' = 'merge-on-read', " +
    "'write.update.mode' = 'merge-on-read', 'write.merge.mode' = 'merge-on-read')"

  private def conflicts(name: String)(change: => Unit): Unit = {
    fails("ZORDER_CONFLICT", name)(optimizeWith(name, table(name))(change))
    assert(orphans(name).isEmpty)
    assert(!snapshots(name).exists(_.summary.containsKey("zorder-columns")))
  }

  override protected def allowed(): Unit = {
    val _ = sql("ALTER TABLE ice.db.t ADD COLUMN more INT")
  }

  override protected def checkAppended(): Unit =
    assert(table("t").currentSnapshot.operation === "replace")

  test("a DELETE on the inputs excludes the commit, and no file is left") {
    withTables {
      create("mor", mergeOnRead, files = 2, rows = 400)
      conflicts("mor")(sql("DELETE FROM ice.db.mor WHERE id % 10 = 3"))
      assert(bag(spark.table("ice.db.mor")) === bag(numbers(0, 400, 1).where("id % 10 <> 3")))
    }
  }

  test("DELETE, UPDATE and MERGE on the inputs exclude the commit, and no file is left", Slow) {
    withTables {
      for ((kind, clauses) <- Seq("cow" -> "", "mor" -> mergeOnRead)) {
        create(kind, clauses, files = 2, rows = 1000)
        conflicts(kind)(sql(s"DELETE FROM ice.db.$kind WHERE id % 10 = 3"))
        assert(bag(spark.table(s"ice.db.$kind")) ===
          bag(numbers(0, 1000, 1).where("id % 10 <> 3")))
      }
      create("merge", mergeOnRead.replace("(", "('format-version' = '3', "), files = 2, rows = 1000)
      conflicts("merge") {
        sql("""MERGE INTO ice.db.merge t USING (SELECT 5L id) s ON t.id = s.id
          WHEN MATCHED THEN UPDATE SET a = -1""")
      }
      assert(spark.table("ice.db.merge").where("a = -1").count() === 1)
      assert(spark.table("ice.db.merge").count() === 1000)
    }
  }

  test(
    "equality deletes before a run hold, those during a run exclude it, and no row comes back",
    Slow) {
    withTables {
      create("t", "TBLPROPERTIES ('format-version' = '2')", files = 2, rows = 1000)
      deleteWhereEqual("t", "id", 7L)
      fails("ZORDER_CONFLICT") {
        optimizeWith("t", table("t")) {
          deleteWhereEqual("t", "id", 8L)
          // the first of two commits is older than the table's last one
          deleteWhereEqual("t", "id", 9L)
        }
      }
      val left = numbers(0, 1000, 1).where("id NOT IN (7, 8, 9)")
      assert(bag(spark.table("ice.db.t")) === bag(left))
      optimized("t", "ZORDER BY (a, b)")
      assert(bag(spark.table("ice.db.t")) === bag(left))
      // a row with a deleted key that came later is there, and stays
      numbers(7, 8, 1).writeTo("ice.db.t").append()
      optimized("t", "FULL ZORDER BY (a, b)")
      assert(bag(spark.table("ice.db.t")) === bag(left.union(numbers(7, 8, 1))))
    }
  }

  test("position deletes are applied, and one that comes later excludes the commit") {
    withTables {
      create("t", mergeOnRead, files = 2, rows = 1000)
      sql("DELETE FROM ice.db.t WHERE id < 100")
      optimized("t", "ZORDER BY (a, b) OPTIONS (targetFileSize = '2k')")
      assert(bag(spark.table("ice.db.t")) === bag(numbers(100, 1000, 1)))
      fails("ZORDER_CONFLICT") {
        optimizeWith("t", table("t"))(sql("DELETE FROM ice.db.t WHERE id < 200"))
      }
      assert(bag(spark.table("ice.db.t")) === bag(numbers(200, 1000, 1)))
    }
  }

  private def failing(e: => RuntimeException, after: Boolean) = {
    val real = table("t")
    new BaseTable(new FailingOperations(real.operations, () => e, after), real.name)
  }

  test("a commit that failed leaves no file; a commit of unknown state leaves all") {
    withTables {
      create("t", files = 2, rows = 1000)
      fails("ZORDER_CONFLICT") {
        optimizeWith("t", failing(new CommitFailedException("lost"), after = false))(())
      }
      assert(orphans("t").isEmpty)
      assert(snapshots("t").size === 1)
      intercept[CommitStateUnknownException] {
        optimizeWith("t", failing(new CommitStateUnknownException(new Exception), after = true))(())
      }
      assert(snapshots("t").size === 2)
      assert(bag(spark.table("ice.db.t")) === bag(numbers(0, 1000, 1)))
    }
  }

  test("an error after the commit leaves all files", Slow) {
    withTables {
      create("t", files = 2, rows = 1000)
      intercept[IllegalStateException] {
        optimizeWith("t", failing(new IllegalStateException("broken"), after = true))(())
      }
      assert(bag(spark.table("ice.db.t")) === bag(numbers(0, 1000, 1)))
      // the commit took place, and its repetition on the way to the catalog failed by it
      val before = filesBelow(new File(warehouse, "db/t/data"), ".parquet")
      intercept[ValidationException] {
        optimizeWith("t", failing(new ValidationException("missing files"), after = true))(())
      }
      assert(snapshots("t").size === 3)
      // Iceberg has deleted its list of manifests, but the rows are there
      assert(filesBelow(new File(warehouse, "db/t/data"), ".parquet").size > before.size)
    }
  }

  test(
    "a scan that the catalog plans, and that reads only the rows of the filter, is not used",
    Slow) {
    withTables {
      create(
        "t",
        "TBLPROPERTIES ('format-version' = '2', 'write.delete.mode' = 'merge-on-read', " +
          "'write.parquet.row-group-size-bytes' = '2048', " +
          "'write.parquet.row-group-check-min-record-count' = '50')")
      sql("DELETE FROM ice.db.t WHERE id % 100 = 7")
      val before = bag(spark.table("ice.db.t"))
      val real = table("t")
      val served = new BaseTable(real.operations, real.name) {
        override def newScan(): TableScan = ServedScan.of(super.newScan())
      }
      val format = new IcebergFormat(served, "ice.db.t", isNamed = true)
      val clauses = OptimizeClauses(
        full = true,
        columns = Seq(Seq("a"), Seq("b")),
        options = Map("targetFileSize" -> "4k"))
      val where = Some(spark.sessionState.sqlParser.parseExpression("id > 4700"))
      new RewriteRunner(SparkLine.session(spark), format, where, clauses).run()
      assert(bag(spark.table("ice.db.t")) === before)
    }
  }

  test("a column that another writer renames or widens between batches is a conflict") {
    withTables {
      create("t")
      val on = table("t")
      val format = new IcebergFormat(on, "ice.db.t", isNamed = true)
      val column = OrderingColumn(Seq("a"), IntegerType)
      val state = format.snapshot(Seq(column), None)
      sql("ALTER TABLE ice.db.t RENAME COLUMN a TO old")
      sql("ALTER TABLE ice.db.t RENAME COLUMN b TO a")
      on.refresh()
      fails("ZORDER_CONFLICT")(state.rows(SparkLine.session(spark), state.files.take(1)))
    }
  }
}

/** Commits that throw an error, before or after they have taken place. */
private final class FailingOperations(
    real: TableOperations,
    error: () => RuntimeException,
    after: Boolean)
    extends TableOperations {
  override def current(): TableMetadata = real.current()
  override def refresh(): TableMetadata = real.refresh()
  override def commit(base: TableMetadata, metadata: TableMetadata): Unit = {
    if (after) real.commit(base, metadata)
    throw error()
  }
  override def io(): org.apache.iceberg.io.FileIO = real.io()
  override def metadataFileLocation(name: String): String = real.metadataFileLocation(name)
  override def locationProvider(): org.apache.iceberg.io.LocationProvider = real.locationProvider()
  override def newSnapshotId(): Long = real.newSnapshotId()
}

/** A scan like those of catalogs that plan scans: a task reads only the rows that match the filter. */
private object ServedScan {

  def of(scan: TableScan): TableScan =
    Proxy.newProxyInstance(getClass.getClassLoader, Array(classOf[TableScan]), handler(scan))
      .asInstanceOf[TableScan]

  private def handler(scan: TableScan): InvocationHandler = (_, method, arguments) =>
    if (method.getName == "ignoreResiduals") of(scan)
    else {
      val passed = if (arguments == null) Array.empty[AnyRef] else arguments
      method.invoke(scan, passed: _*) match {
        case next: TableScan => of(next)
        case other => other
      }
    }
}
