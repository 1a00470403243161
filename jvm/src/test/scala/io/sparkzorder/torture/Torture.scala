// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.torture

import java.io.File
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.locks.LockSupport

import scala.util.{Random, Try}

import org.apache.spark.sql.SparkSession

/**
 * One statement that is killed.
 *
 * @param hive whether its table is one in Hive's format, which SQL names by Hive's catalog
 * @param state of the table before
 * @param change of the statement, from 0, before which it is killed, or at which the child is killed
 * @param other whether another writer appends or overwrites meanwhile, and before which change
 */
private[torture] final case class Target(
    scene: Scene,
    hive: Boolean,
    state: Scene.State,
    change: Int,
    other: Option[(Boolean, Int)] = None)

/**
 * The statements of one child, each on a table of its own.
 *
 * @param stops true when each of them stops before its change, and SIGKILL comes when all stand still.
 *   Else it comes while all of them run, when the first reaches its change
 */
private[torture] final case class Batch(targets: Seq[Target], stops: Boolean) {
  def needsHive: Boolean = targets.exists(_.hive)
}

/**
 * Kills children that run statements on copies of one table, and judges each table after that.
 *
 * @param base directory for everything; the caller deletes it
 * @param classes of the children, which several may share
 */
private[torture] final class Torture(
    base: File,
    session: SparkSession,
    classes: ChildClasses,
    folders: Int,
    files: Int) {
  base.mkdirs()
  private val conf = session.sessionState.newHadoopConf()
  private val template = new File(base, "template")
  TortureTable.write(session, template, folders, files, rows = 600 * folders)
  private val flat = new File(base, "flat")
  TortureTable.writeFlat(session, flat, folders, folders * files, rows = 600 * folders)
  private val extra = new File(base, "extra")
  TortureTable.writeFlat(session, extra, folders, 1, rows = 60, from = 600 * folders)
  private val extraRows = TortureTable.rows(extra, conf)
  private val extraFile = new File(extra, TortureTable.visible(extra).head)
  private val targetBytes = {
    val bytes =
      TortureTable.visible(template).toSeq.map(n => new File(template, n).length).sum
    bytes / (folders * 3)
  }
  private val judge = new Judge(session, TortureTable.rows(template, conf))
  private val prepared = new ConcurrentHashMap[(Boolean, Boolean, Scene.State), File]
  private var made = 0
  // with whether it has Hive's catalog
  private var next: Option[(Boolean, Victim)] = None

  val scenes: Seq[Scene] = Scene.all(targetBytes)

  def hasHive: Boolean = classes.hasHive

  /** The kinds of tables: with Hive's catalog or not. */
  def kinds: Seq[Boolean] = if (hasHive) Seq(false, true) else Seq(false)

  /** Changes on disk of each scene's statement when nobody kills it, with their phases. */
  def measure(hive: Boolean): Map[String, Seq[StepLog.Line]] = {
    val orders = scenes.map(s => order(Target(s, hive, s.states((s.states.size - 1) / 2), 0), -1))
    val victim = newVictim(hive)
    victim.begin(orders)
    victim.finish()
    val failed = orders.indices.flatMap(victim.failure)
    require(failed.isEmpty, failed.mkString("\n"))
    if (hive) classes.keepCatalog(new File(base, s"child$made/catalog"))
    scenes.zip(orders).map { case (scene, o) =>
      judge.rows(o.table, "an undisturbed run")
      TortureTable.delete(o.table)
      scene.name -> StepLog.read(o.log).filter(l => StepLog.changes(l.operation))
    }.toMap
  }

  /** Starts the child of the next batch while this one is being judged. */
  def prepare(batch: Option[Batch]): Unit = {
    end()
    next = batch.map(b => b.needsHive -> newVictim(b.needsHive))
  }

  def end(): Unit = {
    next.foreach(_._2.kill())
    next = None
  }

  /** @param following likely the batch after this one */
  def kill(batch: Batch, random: Random, following: Option[Batch]): Seq[Kill] = {
    val orders = batch.targets.map(t => order(t, if (batch.stops) t.change else -1))
    val before = orders.map(o => TortureTable.visible(o.table))
    val askers = orders.map { o =>
      if (o.other.isEmpty && random.nextInt(4) == 0)
        Some(new Asker(session, o.table, judge.expected))
      else None
    }
    // the other lane may have taken the batch for which the child was started
    if (!next.exists(_._1 == batch.needsHive)) prepare(Some(batch))
    val victim = next.get._2
    next = None
    victim.begin(orders)
    val awaited = if (batch.stops) orders.indices else Seq(0)
    awaited.foreach(i => await(victim, i, orders(i), batch.targets(i).change))
    victim.kill()
    prepare(following)
    // a reader asks until its table is judged, so those tables come first
    orders.indices.sortBy(askers(_).isEmpty).map { i =>
      val (target, o) = (batch.targets(i), orders(i))
      val isOptimize = target.scene.name == scenes.head.name
      val committed = TortureTable.commits(o.table).contains("_1")
      val phase =
        if (victim.hasEnded(i)) "done"
        else if (!isOptimize) "under way"
        else StepLog.read(o.log).lastOption.map(_.phase).getOrElse("check")
      var failed = 0
      // the writer acts before the change is noted
      val acted = o.other.filter(w => StepLog.read(o.log).exists(_.change >= w.at))
      val rows = acted.fold(judge.expected)(_.rows(judge.expected, extraRows))
      val judged = Try(
        judge(
          o.table,
          before(i),
          random,
          target.scene.next,
          isOptimize,
          () => failed += 1,
          rows))
      val asked = askers(i).map(_.end())
      val own =
        victim.failure(i).filterNot(f => acted.exists(_.overwrites) && Other.isConflict(f))
      val failure = own.orElse(judged.failed.toOption.map(_.toString))
        .orElse(asked.flatMap(_.left.toOption))
      if (failure.isEmpty) TortureTable.delete(o.table)
      Kill(
        target,
        if (batch.stops) BeforeChange(target.change) else Running,
        phase,
        committed,
        failed,
        asked.flatMap(_.toOption).getOrElse(0),
        failure.map(f => s"${o.table}: $f"))
    }
  }

  private def await(victim: Victim, i: Int, order: Order, change: Int): Unit = {
    val deadline = System.nanoTime() + 180L * 1000000000L
    def reached =
      StepLog.read(order.log).exists(l => l.change >= change && StepLog.changes(l.operation))
    var length = -1L
    var there = false
    while (!there && victim.isAlive && !victim.hasEnded(i) && System.nanoTime() < deadline) {
      val now = order.log.length
      if (now != length) {
        length = now
        there = reached
      }
      if (!there) LockSupport.parkNanos(200000L)
    }
  }

  private def order(target: Target, blockAt: Int): Order = {
    made += 1
    val table = new File(base, s"table$made")
    TortureTable.copy(inState(target), table)
    val name = if (target.hive) s"t$made" else TortureSession.path(table)
    val catalogued =
      if (!target.hive) Nil
      else {
        Seq(
          s"CREATE TABLE $name (id BIGINT, a INT, b INT, s STRING" +
            (if (target.scene.isFlat) ", p BIGINT) " else ") PARTITIONED BY (p BIGINT) ") +
            s"STORED AS PARQUET LOCATION ${TortureSession.path(table)}") ++
          (if (target.scene.isFlat) Nil else Seq(s"ALTER TABLE $name RECOVER PARTITIONS"))
      }
    Order(
      table,
      new File(base, s"log$made"),
      blockAt,
      target.scene.text(name),
      target.other.map { case (overwrites, at) => Other(overwrites, at, extraFile) },
      catalogued)
  }

  /** A table in a state, which is made once and copied then. */
  private def inState(target: Target): File = prepared.computeIfAbsent(
    (target.hive, target.scene.isFlat, target.state),
    { case (hive, isFlat, s) =>
      val table = new File(base, s"$s-$hive-$isFlat".replaceAll("\\W", "_"))
      val first = if (isFlat) flat else template
      if (hive) TortureTable.inHivesNames(first, table) else TortureTable.copy(first, table)
      Scene.prepare(session, table, targetBytes, s)
      table
    })

  private def newVictim(hive: Boolean): Victim = {
    made += 1
    val own = new File(base, s"child$made")
    if (hive) classes.copyCatalog(new File(own, "catalog"))
    new Victim(own, classes, Torture.Orders, hive)
  }
}

private[torture] object Torture {

  /** Statements of one child. */
  val Orders = 12
}
