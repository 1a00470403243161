package io.sparkzorder.formats.delta

import java.io.File

import org.apache.spark.sql.Row

import io.sparkzorder.formats.{FormatAutoTests, FormatStatementTests}

/** What is the same for each format, on Delta tables. */
class DeltaCommonSuite
    extends DeltaTestBase
    with FormatAutoTests
    with FormatStatementTests {
  override protected def format: String = "delta"
  override protected def named: String = "t"
  override protected def directory: File = new File(log("t").dataPath.toUri.getPath)
  override protected def commits: Int = history("t").count(_.operation == "OPTIMIZE")

  override protected def withFormatTable(clauses: String, rows: Int)(body: => Unit): Unit = withTables {
    create("t", clauses, rows = rows)
    body
  }

  test("a filter on partitions lessens the bytes of a scan; a path is recorded like its table") {
    onTable("PARTITIONED BY (p)") {
      ask(
        spark.table("t").where("p = 1 AND a = 5"),
        spark.read.format("delta").load(directory.toString).where("b = 5"))
      val rows = sql(s"SHOW WORKLOAD delta.`$directory`").collect()
      val bytes = rows.map(r => r.getSeq[Row](0).head.getString(0) -> r.getLong(3)).toMap
      val share = bytes("a").toDouble / bytes("b")
      assert(share > 0.2 && share < 0.3, bytes)
      // Delta's VACUUM takes the notes for no file of the table
      withSQLConf("spark.databricks.delta.retentionDurationCheck.enabled" -> "false") {
        sql("VACUUM t RETAIN 0 HOURS")
      }
      assert(sql("SHOW WORKLOAD t").count() === rows.length)
    }
  }
}
