// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping

import org.apache.spark.sql.Row
import org.apache.spark.sql.types.{MetadataBuilder, StructType}

/** Columns are found in the index as the relation's own session and options find them in files. */
class RelationSettingsSuite extends SkippingTestBase {
  private val key = "spark.sql.parquet.fieldId.read.enabled"

  private def field(name: String, id: Long): StructType = new StructType().add(
    name,
    "bigint",
    nullable = true,
    new MetadataBuilder().putLong("parquet.field.id", id).build())

  testParts("field ids that a session or a read option turns on or off")(
    checkFieldIds((true, false, 100L), (false, true, 100L), (true, true, 1L)))(checkFieldIds(
    (for {
      session <- Seq(true, false)
      option <- Seq(true, false)
      value <- Seq(1L, 100L)
    } yield (session, option, value)): _*))

  private def checkFieldIds(ways: (Boolean, Boolean, Long)*): Unit = {
    withTableDir { dir =>
      val schema = StructType(field("a", 1L) ++ field("b", 2L))
      // files have the ids, and a reader with ids finds the other column
      def frame(a: Long, b: Long) =
        spark.createDataFrame(java.util.Arrays.asList(Row(a, b)), schema)
      filesOf(dir, frame(1L, 100L), frame(2L, 200L))
      createIndex(dir)
      val swapped = StructType(field("a", 2L))
      // Spark pushes filters down to Parquet by name, whatever the reader finds columns by
      inConf("spark.sql.parquet.filterPushdown" -> "false") {
        for ((session, option, value) <- ways) {
          inConf(key -> session.toString) {
            def found = spark.read.option(key, option.toString).schema(swapped).parquet(dir.getPath)
              .where(s"a = $value").count()
            assert(found === withoutSkipping(found), s"session $session, option $option, $value")
          }
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
