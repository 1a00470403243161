// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.auto

import java.util.concurrent.atomic.AtomicInteger

import org.apache.hadoop.fs.Path
import org.apache.hadoop.security.AccessControlException

import io.sparkzorder.FaultyFileSystem
import io.sparkzorder.commands.FaultyTables
import io.sparkzorder.workload.WorkloadCapture

/** The files of the recorded workload: tables that nobody may write, and many queries at once. */
class WorkloadFilesSuite extends AutoTestBase with FaultyTables {

  test("a table that cannot be written: queries run, and the log has one line") {
    withTableDir { dir =>
      val frame = spark.read.parquet(s"faulty://${dir.getAbsolutePath}")
      val refused = new AtomicInteger
      val log = new LogAppender("workload")
      withSQLConf(on) {
        withLogAppender(log) {
          FaultyFileSystem.withHook { (operation, path) =>
            if (isWorkload(path) && operation != "list" && operation != "open") {
              refused.incrementAndGet()
              throw new AccessControlException(s"$operation $path")
            }
          } {
            val tries = (1 to 3).map { _ =>
              assert(frame.where("a = 5").count() === frame.where("a + 0 = 5").count())
              WorkloadCapture.flush()
              refused.get
            }
            assert(tries.head > 0 && tries.distinct.size === 1, "the driver tried again")
          }
        }
      }
      val lines = log.loggingEvents.map(_.getMessage.getFormattedMessage)
        .filter(_.contains("is not recorded any more"))
      assert(lines.size === 1 && lines.head.contains(dir.getName), lines)
      assert(workload(dir).isEmpty)
    }
  }

  test("queries at once, while notes are written: each counts once") {
    withTableDir { dir =>
      val (threads, queries) = (4, 2)
      val running = (0 until threads).map { t =>
        val session = spark.newSession()
        session.conf.set(on._1, on._2)
        val thread = new Thread(() => {
          for (i <- 0 until queries) {
            session.read.parquet(dir.getPath).where(s"a = ${t * queries + i}").collect()
            if (i % 5 == t) WorkloadCapture.flush()
          }
        })
        thread.start()
        thread
      }
      running.foreach(_.join())
      assert(workload(dir).map(_.getLong(2)).sum === threads * queries)
    }
  }

  test("errors that pass: the notes are written later; after three of them the driver gives up") {
    withTableDir { dir =>
      val frame = spark.read.parquet(s"faulty://${dir.getAbsolutePath}")
      def flushFailing(times: Int): Unit = (1 to times).foreach { _ =>
        FaultyFileSystem.failing(0)((op, path) => op == "create" && isWorkload(path)) {
          WorkloadCapture.flush()
        }
      }
      withSQLConf(on) {
        frame.where("a = 5").collect()
        flushFailing(2)
        assert(workload(dir).isEmpty)
        WorkloadCapture.flush()
        assert(workload(dir).map(_.getLong(2)) === Seq(1L))
        frame.where("a = 6").collect()
        flushFailing(3)
        frame.where("a = 7").collect()
        WorkloadCapture.flush()
        assert(workload(dir).map(_.getLong(2)) === Seq(1L))
      }
    }
  }

  test("what another driver has removed is not written again") {
    withTableDir { dir =>
      // another scheme is another table to this driver
      val other = spark.read.parquet(s"faulty://${dir.getAbsolutePath}")
      withSQLConf(on) {
        (1 to 3).foreach(i => other.where(s"a = $i").collect())
        WorkloadCapture.flush()
        assert(workload(dir).map(_.getLong(2)) === Seq(3L))
        sql(s"VACUUM LAYOUT '$dir' RETAIN 0 HOURS").collect()
        other.where("a = 4").collect()
        WorkloadCapture.flush()
        assert(workload(dir).isEmpty)
        other.where("a = 5").collect()
        WorkloadCapture.flush()
        assert(workload(dir).map(_.getLong(2)) === Seq(1L))
      }
    }
  }

  test("a scan without filters counts by its bytes, and does not load the index") {
    withTableDir { dir =>
      val opened = new AtomicInteger
      withSQLConf(on) {
        FaultyFileSystem.withHook { (operation, path) =>
          if (operation == "open" && path.toString.contains("_zorder/_index")) {
            opened.incrementAndGet()
            throw new OutOfMemoryError("injected")
          }
        } {
          val frame = spark.read.parquet(s"faulty://${dir.getAbsolutePath}")
          assert(frame.groupBy().sum("a", "b", "id").collect().length === 1)
          assert(frame.select("a", "b", "id", "s", "other").collect().length === 40000)
          WorkloadCapture.flush()
        }
      }
      assert(opened.get === 0)
      val rows = workload(dir)
      assert(rows.map(r => (columnsOf(r), r.getLong(2))) === Seq((Nil, 2L)))
      assert(rows.head.getLong(3) > bytesOf(dir) && rows.head.getLong(3) < 2 * bytesOf(dir), rows)
    }
  }

  private def isWorkload(path: Path): Boolean = path.toString.contains("_workload")
}
