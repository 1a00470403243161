package io.sparkzorder.skipping

import org.apache.spark.sql.Row
import org.apache.spark.sql.types.{MetadataBuilder, StructType}

/** Columns are found in the index as the relation's own session and options find them in files. */
class RelationSettingsSuite extends SkippingTestBase {

  private def field(name: String, id: Long): StructType = new StructType().add(
    name,
    "bigint",
    nullable = true,
    new MetadataBuilder().putLong("parquet.field.id", id).build())

  test("field ids that a read option turns on") {
    withTableDir { dir =>
      val schema = StructType(field("a", 1L) ++ field("b", 2L))
      // files have the ids, and a reader with ids finds the other column
      def frame(a: Long, b: Long) =
        spark.createDataFrame(java.util.Arrays.asList(Row(a, b)), schema)
      filesOf(dir, frame(1L, 100L), frame(2L, 200L))
      createIndex(dir)
      val swapped = StructType(field("a", 2L))
      for (on <- Seq(true, false)) {
        val df = spark.read.option("spark.sql.parquet.fieldId.read.enabled", on.toString)
          .schema(swapped).parquet(dir.getPath)
        val query = df.where(if (on) "a = 100" else "a = 1")
        // Spark pushes filters down to Parquet by name, whatever the reader finds columns by
        inConf("spark.sql.parquet.filterPushdown" -> "false") {
          val scan = scanOf(query)
          val answers = scan.pruning.ask(scan.filters)
          assert(keptFiles(query) === (if (on) 2 else 1), s"$on: ${answers.map(_.reason)}")
          assert(query.count() === 1L)
        }
      }
    }
  }

  test("a global view of a session that tells names apart by their case") {
    withTableDir { dir =>
      // no file has the column `a`, so every row is NULL for a reader that looks at case
      filesOf(dir, sql("SELECT 1L A"), sql("SELECT 2L A"))
      createIndex(dir)
      val other = spark.newSession()
      other.conf.set("spark.sql.caseSensitive", "true")
      other.read.schema("a BIGINT").parquet(dir.getPath).createOrReplaceGlobalTempView("cased")
      try {
        val view = spark.table("global_temp.cased")
        assert(view.where("a IS NULL").count() === withoutSkipping(
          spark.table("global_temp.cased").where("a IS NULL").count()))
        assert(view.where("a IS NULL").count() === 2L)
        assert(view.where("a = 1").count() === 0L)
      } finally spark.sql("DROP VIEW global_temp.cased").collect()
    }
  }
}
