package io.sparkzorder.torture

import java.io.File
import java.util.concurrent.locks.LockSupport

import scala.util.{Random, Try}

import org.apache.hadoop.fs.Path

import org.apache.spark.sql.SparkSession

import io.sparkzorder.FaultyFileSystem
import io.sparkzorder.log.{Publisher, StateDirectory}

/**
 * Kills children that run OPTIMIZE on copies of one table, and checks after each kill that no row is
 * lost or doubled.
 *
 * @param base directory for everything; the caller deletes it
 */
private[torture] final class Torture(base: File, session: SparkSession, folders: Int, files: Int) {
  base.mkdirs()
  private val conf = session.sessionState.newHadoopConf()
  private val template = new File(base, "template")
  TortureTable.write(session, template, folders, files, rows = 600 * folders)
  private val expected = TortureTable.rows(template, conf)
  private val before = TortureTable.visible(template)
  private val targetBytes = {
    val bytes = before.toSeq.map(n => new File(template, n).length).sum
    bytes / (folders * 3)
  }
  private val classes = new ChildClasses(base)
  private var made = 0
  private var next: Option[Victim] = None

  val scenes: Seq[Scene] = Scene.all(targetBytes)

  /** Changes on disk of an OPTIMIZE that nobody kills, with their phases, and its milliseconds. */
  lazy val (steps, runMs) = measure(scenes.head)

  /** The same for any scene. */
  def measure(scene: Scene): (Seq[StepLog.Line], Long) = {
    val (table, log) = fresh()
    scene.prepare(session, table, new Random(7))
    val victim = newVictim()
    victim.begin(table, log, -1, scene.text(table))
    val start = System.nanoTime()
    victim.finish()
    val ms = (System.nanoTime() - start) / 1000000L
    require(TortureTable.rows(table, conf) == expected, "an undisturbed run changed the rows")
    TortureTable.delete(table)
    (StepLog.read(log).filter(l => StepLog.changes(l.operation)), ms)
  }

  /** Starts the next child while this one is being judged. */
  def prepare(): Unit = if (next.isEmpty) next = Some(newVictim())

  def end(): Unit = next.foreach(_.kill())

  /** @param scene what is killed; by default OPTIMIZE */
  def kill(moment: Moment, random: Random, scene: Scene = scenes.head): Kill = {
    val (table, log) = fresh()
    scene.prepare(session, table, random)
    val asker =
      if (random.nextInt(4) == 0) Some(new Asker(session, table, expected)) else None
    val victim = next.getOrElse(newVictim())
    next = None
    val block = moment match {
      case BeforeChange(k) => k
      case _ => -1
    }
    victim.begin(table, log, block, scene.text(table))
    await(moment, victim, log)
    val finished = victim.kill()
    prepare()
    val phase =
      if (finished) "done" else StepLog.read(log).lastOption.map(_.phase).getOrElse("check")
    val committed = TortureTable.commits(table).contains("_1")
    var failed = 0
    val isOptimize = scene == scenes.head
    val judged =
      Try(judge(table, random, isOptimize, () => failed += 1)).failed.toOption.map(_.toString)
    val asked = asker.map(_.end())
    val failure = judged.orElse(asked.flatMap(_.left.toOption))
    if (failure.isEmpty) TortureTable.delete(table)
    val answers = asked.flatMap(_.toOption).getOrElse(0)
    Kill(scene.name, moment, phase, committed, failed, answers, failure)
  }

  private def await(moment: Moment, victim: Victim, log: File): Unit = moment match {
    case AfterShare(share) =>
      val until = System.nanoTime() + (runMs * share * 1e6).toLong
      while (System.nanoTime() < until && victim.isAlive) Thread.sleep(1)
    case BeforeChange(k) => awaitChange(k, victim, log, pauseNanos = 2000000L)
    case RunningPast(k) => awaitChange(k, victim, log, pauseNanos = 50000L)
  }

  private def awaitChange(k: Int, victim: Victim, log: File, pauseNanos: Long): Unit = {
    val deadline = System.nanoTime() + 120L * 1000000000L
    def reached = StepLog.read(log).exists(l => l.change >= k && StepLog.changes(l.operation))
    var length = -1L
    var there = false
    while (!there && victim.isAlive && System.nanoTime() < deadline) {
      val now = log.length
      if (now != length) {
        length = now
        there = reached
      }
      if (!there) LockSupport.parkNanos(pauseNanos)
    }
  }

  private def fresh(): (File, File) = {
    made += 1
    (TortureTable.copy(template, new File(base, s"table$made")), new File(base, s"log$made"))
  }

  private def newVictim(): Victim = {
    made += 1
    new Victim(new File(base, s"child$made"), classes)
  }

  /** All that must hold after a kill. */
  private def judge(
      table: File,
      random: Random,
      isOptimize: Boolean,
      onFailedRecovery: () => Unit): Unit = {
    val files = TortureTable.rows(table, conf)
    check(files.forall { case (r, n) => expected.getOrElse(r, 0) >= n }, "a row is seen twice")
    if (Torture.hasOverlay) {
      check(TortureTable.rowsBySpark(session, table) == expected, "with the extension")
    }
    val committed = TortureTable.commits(table).contains("_1")
    recover(table, random, onFailedRecovery)
    check(TortureTable.rows(table, conf) == expected, "after recovery, without the extension")
    check(
      TortureTable.rowsBySpark(session, table) == expected,
      "after recovery, with the extension")
    check(TortureTable.unfinished(table).isEmpty, "a record is not done after recovery")
    val left = TortureTable.hidden(table, TortureTable.runs(table))
    check(left.isEmpty, s"left over: $left")
    if (isOptimize) {
      val now = TortureTable.visible(table)
      check(committed == now.intersect(before).isEmpty, "neither the old files nor the new ones")
      check(committed || now == before, "files of a run that is not committed")
    }
    session.sql(TortureSession.statement(table, "b, a", targetBytes)).collect()
    val records = TortureTable.commits(table).filter(_.matches("_\\d+"))
    check(
      !isOptimize || records.size == (if (committed) 2 else 1),
      s"records after the next OPTIMIZE: $records")
    check(TortureTable.unfinished(table).isEmpty, "the next OPTIMIZE is not done")
    check(TortureTable.rows(table, conf) == expected, "after the next OPTIMIZE")
    session.sql(s"VACUUM LAYOUT '${table.getAbsolutePath}' RETAIN 0 HOURS").collect()
    // what a conflict holds stays: an abandoned run may be published in some folders
    val conflicts = TortureTable.commits(table).exists(_.endsWith("_conflict"))
    check(
      conflicts || TortureTable.ofRuns(table).isEmpty,
      s"left by VACUUM: ${TortureTable.ofRuns(table)}")
    check(TortureTable.rows(table, conf) == expected, "after VACUUM")
  }

  /** Rolls forward; some recoveries fail at a random change, and another one goes on. */
  private def recover(table: File, random: Random, onFailedRecovery: () => Unit): Unit = {
    val state = new StateDirectory(new Path(s"faulty:${table.getAbsolutePath}"), conf)
    var injected = random.nextInt(3)
    while (injected > 0) {
      // the hook is there for one at a time, and another lane goes on beside it
      val (_, failed) = Torture.synchronized {
        FaultyFileSystem.failing(random.nextInt(30)) { (operation, path) =>
          StepLog.changes(operation) && path.toUri.getPath.startsWith(table.getAbsolutePath)
        }(Try(new Publisher(state).rollForward()))
      }
      if (failed) onFailedRecovery()
      injected = if (failed) injected - 1 else 0
    }
    new Publisher(state).rollForward()
    // again changes nothing
    new Publisher(state).rollForward()
  }

  private def check(holds: Boolean, what: String): Unit =
    if (!holds) throw new IllegalStateException(what)
}

private[torture] object Torture {

  /** Whether readers with the extension lay committed records over a listing already. */
  val hasOverlay: Boolean = Try(Class.forName("io.sparkzorder.log.FolderOverlay")).isSuccess
}
