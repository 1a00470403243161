// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import java.io.File

import org.apache.spark.sql.catalyst.expressions.{EqualTo, Literal}
import org.apache.spark.sql.execution.FileSourceScanExec

/** The scan as a node of plans: copies stay what they are, and equality tells it from Spark's own. */
class ScanNodeSuite extends ScanTestBase {

  private def scanIn(dir: File, predicate: String): FileSourceScanExec =
    read(dir).where(predicate).queryExecution.sparkPlan.collectFirst { case s: RuntimePruningScan =>
      s
    }.get

  private def isOurs(scan: Any): Boolean = scan.isInstanceOf[RuntimePruningScan]

  test("copies of every kind keep the numbers") {
    withGrid { dir =>
      val scan = scanIn(dir, oneFile)
      val changed = scan.transformExpressions { case EqualTo(l, Literal(_, t)) =>
        EqualTo(l, Literal.default(t))
      }
      val copies = Seq(
        scan.copy(disableBucketedScan = true),
        scan.copy(optionalNumCoalescedBuckets = Some(2)),
        scan.clone(),
        scan.makeCopy(scan.productIterator.map(_.asInstanceOf[AnyRef]).toArray),
        scan.withNewChildren(Nil),
        scan.canonicalized,
        changed)
      copies.foreach(c => assert(isOurs(c), c))
      assert(changed.asInstanceOf[FileSourceScanExec].dataFilters !== scan.dataFilters)
      assert(scan.clone() == scan && scan.clone().hashCode == scan.hashCode)
      assert(scan.clone().asInstanceOf[FileSourceScanExec].metadata === scan.metadata)
    }
  }

  test("it equals no scan of Spark's own, none with other filters and none of another table") {
    withGrid { dir =>
      val scan = scanIn(dir, oneFile)
      val own = asSparksOwn(scan)
      assert(scan != own && own != scan && own.hashCode != scan.hashCode)
      assert(!scan.sameResult(own) && !own.sameResult(scan))
      val again = scanIn(dir, oneFile)
      assert(scan.sameResult(again) && scan.semanticHash() === again.semanticHash())
      assert(!scan.sameResult(scanIn(dir, "a = 16 AND b = 25")))
      withTempDir { base =>
        val other = new File(base, "other")
        sql(grid).write.parquet(other.getPath)
        assert(!scan.sameResult(scanIn(other, oneFile)))
      }
    }
  }

  test("other formats and streams keep Spark's own scan") {
    withTableDir { dir =>
      sql(grid).write.json(dir.getPath)
      val plan = spark.read.json(dir.getPath).where(oneFile).queryExecution.sparkPlan
      assert(plan.collect { case s: FileSourceScanExec => isOurs(s) } === Seq(false))
    }
    withGrid { dir =>
      inConf("spark.zorder.enabled" -> "false") {
        val plan = read(dir).where(oneFile).queryExecution.sparkPlan
        assert(plan.collect { case s: FileSourceScanExec => isOurs(s) } === Seq(false))
      }
    }
  }
}
