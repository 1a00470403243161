package io.sparkzorder.commands.auto

import java.util.concurrent.atomic.AtomicInteger

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
            if (path.toString.contains("_workload") && operation != "list" && operation != "open") {
              refused.incrementAndGet()
              throw new AccessControlException(s"$operation $path")
            }
          } {
            for (_ <- 1 to 3) {
              assert(frame.where("a = 5").count() === frame.where("a + 0 = 5").count())
              WorkloadCapture.flush()
            }
          }
        }
      }
      assert(refused.get === 1, "the driver tried again")
      val lines = log.loggingEvents.map(_.getMessage.getFormattedMessage)
        .filter(_.contains("is not recorded any more"))
      assert(lines.size === 1 && lines.head.contains(dir.getName), lines)
      assert(workload(dir).isEmpty)
    }
  }

  test("queries at once, while notes are written: each counts once") {
    withTableDir { dir =>
      val (threads, queries) = (4, 12)
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
}
