// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.iceberg

import java.util.UUID

import org.apache.iceberg.{PartitionSpec, StructLike}
import org.apache.iceberg.io.LocationProvider
import org.scalatest.tags.Slow

import io.sparkzorder.sources.{DealtTo, FormatTwoPassesTests, PlannedPass}

/** Iceberg tables with a folder above `batchSize`. */
@Slow
class IcebergTwoPassesSuite extends IcebergTestBase with FormatTwoPassesTests {
  // Iceberg's own runs have no columns
  override protected def removedByCommits: Seq[Long] =
    snapshots("t").map(_.summary).filter(_.containsKey("zorder-run"))
      .map(_.get("removed-files-size").toLong)

  override protected def marking: String =
    "TBLPROPERTIES ('write.delete.mode' = 'merge-on-read', 'write.update.mode' = 'merge-on-read')"
  override protected def rewriting: String = ""

  override protected def compact(): Unit = {
    val _ = sql("""CALL ice.system.rewrite_data_files(table => 'db.t', options => map(
      'rewrite-all', 'true', 'max-file-group-size-bytes', '100000'))""").collect()
  }

  test("the clean-up of orphan files leaves plans and dealt files; a rollback between the passes goes on") {
    withTables {
      create("t", files = 8)
      val bytes = files("t").map(_.fileSizeInBytes).sum
      val options = s"OPTIONS (targetFileSize = '${bytes / 40}', batchSize = '${bytes / 5}')"
      optimized("t", s"ZORDER BY (a, b) $options")
      val own = snapshots("t").filter(_.summary.containsKey("zorder-run"))
      table("t").manageSnapshots().rollbackTo(own(own.size / 2).snapshotId).commit()
      assert(files("t").exists(f => NamesOfPasses.dealt(f.location).isDefined))
      val orphans = sql("CALL ice.system.remove_orphan_files(table => 'db.t', dry_run => true)")
      assert(orphans.collect().isEmpty)
      optimized("t", s"ZORDER BY (a, b) $options")
      assert(!files("t").exists(f => NamesOfPasses.dealt(f.location).exists(_.region > 0)))
    }
  }

  test("a table of format version 1, whose files have no sequence numbers") {
    withTables {
      create("t", "TBLPROPERTIES ('format-version' = '1')", files = 8)
      val bytes = files("t").map(_.fileSizeInBytes).sum
      val options = Map("targetFileSize" -> s"${bytes / 40}", "batchSize" -> s"${bytes / 5}")
      var done = 0
      intercept[IllegalStateException](interrupted(options) {
        done += 1
        if (done == 3) throw new IllegalStateException("stop")
      })
      val dealt = files("t").flatMap(f => NamesOfPasses.dealt(f.location))
      assert(dealt.map(_.plan).distinct.size === 1)
      val list = options.map { case (k, v) => s"$k = '$v'" }.mkString(", ")
      val row = optimized("t", s"ZORDER BY (a, b) OPTIONS ($list)")
      assert(row.getAs[String]("reason").contains("goes on"))
      assert(!files("t").exists(f => NamesOfPasses.dealt(f.location).exists(_.region > 0)))
      assert(metric(optimized("t", s"ZORDER BY (a, b) OPTIONS ($list)"), "numBatches") === 0)
    }
  }

  test("names of passes") {
    val plan = UUID.randomUUID().toString
    val of = new LocationProvider {
      override def newDataLocation(name: String): String = s"s3://b/t/0101/$name"
      override def newDataLocation(s: PartitionSpec, p: StructLike, name: String): String = name
    }
    val first = new LocationsOfPass(of, PlannedPass(plan, IndexedSeq(7, 0)))
    def dealt(name: String) = NamesOfPasses.dealt(first.newDataLocation(name))
    assert(dealt("00000-17-x-00001.parquet") === Some(DealtTo(plan, 7)))
    assert(dealt("00001-17-x-00001.parquet") === Some(DealtTo(plan, 0)))
    assert(dealt("00002-17-x-00001.parquet") === None)
    assert(dealt("other.parquet") === None)
    val last = NamesOfPasses.named("00002-17-x.parquet", PlannedPass(plan))
    assert(NamesOfPasses.finishedPlan(s"/t/$last") === Some(plan))
    assert(NamesOfPasses.dealt(s"/t/$last") === None)
    for (n <- Seq(
        s"zorder-$plan-99999999999-x",
        "zorder-------------------------------------7-x",
        s"/zorder-$plan-7-/x",
        s"zorder-$plan--7-x",
        s"a-zorder-$plan-7-x"))
      assert(NamesOfPasses.dealt(n) === None, n)
  }
}
