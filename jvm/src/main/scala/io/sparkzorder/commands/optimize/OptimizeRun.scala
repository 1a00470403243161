package io.sparkzorder.commands.optimize

import java.time.Instant
import java.util.UUID

import scala.collection.mutable
import scala.util.Try

import org.apache.hadoop.fs.Path

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.sparkzorder.SparkLine.Session

import io.sparkzorder.commands.{ColumnList, OrderingColumns, Phases, TableState, WhereClause}
import io.sparkzorder.conf.{PinnedSession, Settings}
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.index.IndexUpdate
import io.sparkzorder.log.{Leftovers, Record, Retention, RunHistory, StateDirectory}
import io.sparkzorder.table.{TableFiles, TableLister, Target, TargetChecks}
import io.sparkzorder.table.schema.TableSchema
import io.sparkzorder.table.stats.FooterReader
import io.sparkzorder.write.IntoDirectory

/**
 * One run of OPTIMIZE, from the checks to the result row.
 *
 * @param user the user's session, which is not changed
 */
final class OptimizeRun(
    user: Session,
    target: Target,
    where: Option[Expression],
    clauses: OptimizeClauses)
    extends Logging {

  private val startMs = System.currentTimeMillis()
  private val conf = user.sessionState.newHadoopConf()
  private val phases = new Phases(user.sparkContext, s"OPTIMIZE ${target.name}")
  private val settings =
    new Settings(clauses.options, target.properties, user.conf.getAll, target.defaults)
      .validate()
  private val runs = mutable.ArrayBuffer.empty[String]
  private var lastPublished = 0L
  // true while files may have been exchanged and the session's caches do not know
  private var stale = false
  private lazy val root = target.root(conf)
  private lazy val state = new StateDirectory(root, conf)
  private lazy val intoDirectory =
    clauses.into.map { d =>
      val path = new Path(d)
      new IntoDirectory(path.getFileSystem(conf).makeQualified(path), conf)
    }

  def run(): OptimizeResult =
    try runPhases()
    catch {
      case e: Throwable =>
        if (runs.nonEmpty) {
          intoDirectory.foreach(d => Try(d.clearOwn(runs.toSet)).failed.foreach(e.addSuppressed))
        }
        // earlier batches are in the table all the same
        if (stale) Try(refresh()).failed.foreach(e.addSuppressed)
        throw e
    }

  private def runPhases(): OptimizeResult = {
    phases("check")(check())
    val listed = phases("list")(list())
    val prepared = prepare(listed)
    val planner = new BatchPlanner(prepared, phases, copyAll = clauses.into.isDefined)
    val choice = FilesToRewrite.choose(
      prepared,
      records,
      all = clauses.full || clauses.into.isDefined,
      where = whereOver(prepared.files).flatMap(FileChoice.choose(prepared, _)))
    val batches = Batches.of(prepared, choice, clauses.options, clauses.into.isDefined)
    if (!clauses.dryRun) checkDestination(batches)
    val done = batches.zipWithIndex.map { case (b, i) =>
      logInfo(s"OPTIMIZE ${target.name}: batch ${i + 1} of ${batches.size}, " +
        s"${b.files.files.size} files in ${b.files.folders.size} folders")
      val plan = planner.plan(b.files, b.footers)
      plan -> (if (clauses.dryRun || plan.folderOfFile.isEmpty) None
               else Some(execute(prepared, plan)))
    }
    intoDirectory.filter(_ => !clauses.dryRun).foreach(finishInto(prepared, _, done.flatMap(_._2)))
    if (stale) phases("refresh")(refresh())
    val effort =
      if (clauses.dryRun) Some(new PredictedEffort(prepared, done.map(_._1), records)) else None
    new ResultRow(prepared, clauses, phases, startMs, root.toString, done)
      .build(reason(prepared, choice, done, effort), effort)
  }

  /** All records, ascending. */
  private lazy val records: Seq[Record] = state.numbers().map(n => state.read(n))

  private def check(): Unit = {
    TargetChecks.check(target, conf)
    intoDirectory.foreach(checkInto)
    if (clauses.into.isEmpty) {
      TargetChecks.checkInPlace(target, conf, settings(Settings.InPlaceSchemes))
    }
  }

  private def checkInto(directory: IntoDirectory): Unit = {
    directory.requireEmpty()
    TargetChecks.checkAncestors(directory.fs, directory.root)
    val inside = Iterator.iterate(directory.root)(_.getParent).takeWhile(_ != null).contains(root)
    if (inside) {
      throw ZOrderErrors.pathInTable(directory.root.toString, root.toString, "the source's files")
    }
  }

  /** Whether what will be written may be written, and has room. */
  private def checkDestination(batches: Seq[Batch]): Unit = {
    intoDirectory match {
      case Some(d) => WriteAccess.checkInto(target.name, d.fs, d.root)
      case None => WriteAccess.checkInPlace(target.name, state.fs, root, batches)
    }
    val into = intoDirectory.map(d => (d.fs, d.root))
    FreeSpace.check(target.name, into.getOrElse((state.fs, root)), batches)
  }

  private def list(): TableFiles = {
    // also before a copy: a half-published table has not all its rows in place
    if (!clauses.dryRun) {
      lastPublished = state.numbers().lastOption.getOrElse(0L)
      stale = state.unfinished().nonEmpty
      TableState.rollForward(user, state, target.format)
      if (clauses.into.isEmpty) new Retention(state).removeExpired(startMs)
      logOtherRuns()
    }
    val all = relist()
    TargetChecks.checkFiles(target, all)
    val clause = whereOver(all)
    if (clauses.into.isDefined) clause.foreach(requirePartitionsOnly(_, all))
    val chosen = clause.fold(all)(new PartitionChoice(user, target, _)(all))
    // a copy must be whole; in place such a partition just stays as it is
    chosen.outside.headOption.filter(_ => clauses.into.isDefined).foreach { o =>
      throw ZOrderErrors.partitionOutsideTable(target.name, o.spec, o.location)
    }
    if (clauses.into.isEmpty) TargetChecks.checkLinks(target, chosen)
    chosen
  }

  private def whereOver(files: TableFiles): Option[WhereClause] = where.map { w =>
    new WhereClause(w, target, files.partitionSchema, user.sessionState.conf.resolver)
  }

  /** A copy of the files in which some row matches would be neither the table nor the rows that match. */
  private def requirePartitionsOnly(clause: WhereClause, files: TableFiles): Unit =
    if (clause.dataColumns.nonEmpty) {
      throw ZOrderErrors.predicateNotOnPartitions(
        where.get.sql,
        clause.dataColumns,
        target.name,
        files.partitionSchema.fieldNames.toSeq)
    }

  private def logOtherRuns(): Unit = {
    val leftovers = new Leftovers(state, startMs)
    leftovers.uncommitted.foreach { l =>
      if (leftovers.isOver(l, settings(Settings.Retention))) {
        logInfo(s"run ${l.run} on ${target.name} died; VACUUM LAYOUT removes its files: ${l.path}")
      } else {
        logWarning(s"another run is under way on ${target.name}, or died a short while ago: " +
          s"${l.run}, ${l.files} files staged, the last at ${Instant.ofEpochMilli(l.sinceMs)}. " +
          "When both rewrite the same files, the one that commits first wins.")
      }
    }
  }

  private def relist(): TableFiles = new TableLister(user, target).list()

  private def prepare(listed: TableFiles): Prepared = {
    val session = PinnedSession.of(user)
    val footers = phases("footers")(FooterReader.read(listed.files, conf, target.format))
    val schema = new TableSchema(target.name, session.sessionState.conf, target.format)
      .union(listed.catalogSchema, footers)
    // an empty directory has no schema to look columns up in
    val names = if (schema.isEmpty && listed.files.isEmpty) Nil else columnNames
    val columns = new OrderingColumns(target.name, session.sessionState.conf.resolver)
      .resolve(names, schema, listed.partitionSchema)
    val prepared = Prepared(session, target, settings, listed, footers, schema, columns)
    if (footers.nonEmpty) {
      prepared.shape // refuses types before anything is read
      ColumnsWithoutBounds.check(prepared)
    }
    prepared
  }

  /** ZORDER BY, else the columns of the table's layout, else its property. */
  private def columnNames: Seq[Seq[String]] =
    if (clauses.columns.nonEmpty) clauses.columns
    else {
      val parser = user.sessionState.sqlParser
      val layout = RunHistory.read(state).inForce.map(_._2.columns).find(_.nonEmpty)
      layout
        .orElse(settings.get(Settings.Columns).map(ColumnList.split))
        .getOrElse(Nil)
        .map(parser.parseMultipartIdentifier)
    }

  private def execute(prepared: Prepared, plan: BatchPlan): BatchOutcome = {
    val run = UUID.randomUUID().toString
    runs += run
    val batch = new BatchRun(prepared, phases, conf, run, lastPublished, () => relist())
    intoDirectory match {
      case Some(directory) => batch.into(plan, directory)
      case None =>
        stale = true
        batch.inPlace(plan, state)
    }
  }

  private def finishInto(
      prepared: Prepared,
      directory: IntoDirectory,
      outcomes: Seq[BatchOutcome]): Unit = {
    directory.fs.mkdirs(directory.root)
    directory.removeOwn(runs.toSet, keep = outcomes.flatMap(_.added.map(_.file.path.getName)).toSet)
    val (rows, copied) =
      (prepared.footers.map(_.rows).sum, outcomes.flatMap(_.added).map(_.rows).sum)
    val foreign = directory.foreign(runs.toSet)
    foreign.foreach(f => throw ZOrderErrors.targetNotEmpty(directory.root.toString, f))
    if (rows != copied) {
      throw ZOrderErrors.verificationFailed(target.name, s"$copied of $rows rows were copied")
    }
    directory.markSuccess()
    if (outcomes.exists(_.added.nonEmpty)) {
      phases("index")(IndexUpdate.ofCopy(
        new StateDirectory(directory.root, conf),
        outcomes.flatMap(_.added),
        prepared.columns.map(_.parts),
        IndexUpdate.chosen(root, conf),
        conf))
    }
  }

  private def refresh(): Unit = {
    TableState.refresh(user, target, root)
    stale = false
  }

  private def reason(
      prepared: Prepared,
      choice: Choice,
      done: Seq[(BatchPlan, Option[BatchOutcome])],
      effort: Option[PredictedEffort]): Option[String] = {
    val outside = prepared.files.outside.map(o =>
      s"partition ${o.spec} was left out: it lies outside the table at ${o.location}")
    val nothing =
      if (prepared.files.files.isEmpty) {
        Some(if (where.isEmpty) "there are no data files" else "WHERE chooses no data files")
      } else if (choice.files.nonEmpty && done.forall(_._1.folderOfFile.isEmpty)) {
        Some(
          if (prepared.columns.isEmpty) "there are no small files to put together"
          else "there are no rows")
      } else None
    val all = nothing.orElse(choice.reason).toSeq ++ effort.flatMap(_.text) ++ outside
    if (all.isEmpty) None else Some(all.mkString("; "))
  }
}
