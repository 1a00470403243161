package io.sparkzorder.rewrite

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.expressions.Expression

import io.sparkzorder.commands.{Phases, TableState, WhereClause}
import io.sparkzorder.commands.auto.WantedOrder
import io.sparkzorder.table.TableFiles
import io.sparkzorder.write.OutputSpec

/**
 * Executes one OPTIMIZE statement: check, recover, list, plan, execute, report. Each step is a class of
 * its own. What differs between a rewrite in place, a copy and a dry run is in [[Destination]]; what
 * differs between clustering and compaction is in [[RewriteStrategy]].
 */
private[sparkzorder] final class OptimizeExecutor(
    table: TableState,
    where: Option[Expression],
    clauses: OptimizeClauses)
    extends Logging {

  private val startMs = System.currentTimeMillis()
  private val name = table.target.name
  private val phases = new Phases(table.user.sparkContext, s"OPTIMIZE $name")
  private lazy val records = table.records
  private val destination = Destination.of(table, clauses, phases, startMs)

  def run(): OptimizeResult = {
    table.checkSettings()
    where.foreach(WhereClause.check(_, name))
    try steps()
    catch {
      case e: Throwable =>
        destination.abandon(e)
        throw e
    }
  }

  private def steps(): OptimizeResult = {
    phases("check")(destination.check())
    // whatever is refused is refused before a run of before is published
    if (phases("list")(destination.isBehind)) plan()
    phases("list")(destination.recover())
    execute(plan())
  }

  /** Lists and reads what is to be rewritten, and refuses what must not be; changes nothing. */
  private def plan(): OptimizePlan = {
    val listed = phases("list")(new FileListing(table, whereOver, destination).list())
    val order =
      if (clauses.auto) WantedOrder.auto(table, listed, where.isDefined, phases)
      else if (clauses.columns.isEmpty && WantedOrder.isAuto(table.target)) {
        // a table without a layout is at least compacted
        WantedOrder.auto(table, listed, where.isDefined, phases).copy(isLeft = false)
      } else WantedOrder.of(table, clauses.columns)
    val inputs = RewriteInputs.read(table, listed, order, whereOver(listed), phases)
    val output = inputs.output()
    val strategy = RewriteStrategy.of(inputs, destination.takesAllFiles, phases)
    output.foreach(strategy.check)
    val selection = select(inputs, strategy, order)
    val batches =
      Batches.of(inputs, selection, limited = !destination.takesAllFiles, clauses.options)
    val codecs = new Codecs(inputs, batches.flatMap(_.files))
    output.foreach(codecs.check(_, table.conf))
    destination.checkRoom(batches)
    OptimizePlan(inputs, output, strategy, selection, batches)
  }

  private def execute(plan: OptimizePlan): OptimizeResult = {
    import plan._
    val done = for {
      spec <- output.toSeq
      writer = new BatchWriter(inputs, spec, phases, table.conf)
      (batch, i) <- batches.zipWithIndex
    } yield {
      logInfo(s"OPTIMIZE $name: batch ${i + 1} of ${batches.size}, " +
        s"${batch.files.size} files in ${batch.folders.size} folders")
      val own = strategy.plan(batch)
      own -> (if (own.outputs.isEmpty) None else destination.write(own, writer))
    }
    destination.finish(inputs, done.flatMap(_._2))
    val rewritten = batches.flatMap(_.files)
    val changes = output.toSeq.flatMap(o => new Codecs(inputs, rewritten).change(o).toSeq) ++
      new ValuesOfOthers(inputs, rewritten).changes ++
      (if (done.exists(_._1.outputs.nonEmpty)) output.toSeq.flatMap(_.lost) else Nil)
    report(inputs, strategy, selection, done, changes)
  }

  private def whereOver(files: TableFiles): Option[WhereClause] = where.map { w =>
    val sameName = table.user.sessionState.conf.resolver
    new WhereClause(w, table.target, files.partitionSchema, sameName)
  }

  /** The files that WHERE chooses, and of these the files that are worth rewriting. */
  private def select(
      inputs: RewriteInputs,
      strategy: RewriteStrategy,
      order: WantedOrder): RewriteSelection = {
    val matching = whereOver(inputs.listed).flatMap(DataPredicatePruning.prune(inputs, _))
    val all = inputs.files.map(_.file.path).toSet
    val chosen = matching.getOrElse(all)
    val everything =
      clauses.full || order.rewritesAll || destination.takesAllFiles || chosen.isEmpty
    val selection =
      if (order.isLeft && !destination.takesAllFiles) RewriteSelection(Set.empty, None)
      else if (everything) strategy.selectAll(chosen) else strategy.select(chosen, records)
    val byWhere = matching.map(m => s"WHERE chooses ${m.size} of ${all.size} files")
    selection.copy(reason =
      (order.reason ++ byWhere ++ selection.reason ++ inputs.settings.sizeKept).reduceOption(
        _ + "; " + _))
  }

  private def report(
      inputs: RewriteInputs,
      strategy: RewriteStrategy,
      selection: RewriteSelection,
      done: Seq[(BatchPlan, Option[BatchOutcome])],
      changes: Iterable[String]): OptimizeResult = {
    val effort =
      if (clauses.dryRun) Some(new PredictedEffort(inputs, done.map(_._1), records)) else None
    val nothing =
      if (inputs.files.isEmpty) {
        Some(if (where.isEmpty) "there are no data files" else "WHERE chooses no data files")
      } else if (selection.files.nonEmpty && done.forall(_._1.outputs.isEmpty)) {
        Some(strategy.nothingToDo)
      } else None
    val outside = inputs.listed.outside.map(o =>
      s"partition ${o.spec} was left out: it lies outside the table at ${o.location}")
    val reasons =
      nothing.orElse(selection.reason).toSeq ++ changes ++ effort.flatMap(_.text) ++ outside
    new ResultRow(inputs, destination, phases, startMs, done, effort)
      .build(if (reasons.isEmpty) None else Some(reasons.mkString("; ")))
  }
}

/**
 * What one OPTIMIZE statement is about to do.
 *
 * @param output None if there is no input file
 */
private final case class OptimizePlan(
    inputs: RewriteInputs,
    output: Option[OutputSpec],
    strategy: RewriteStrategy,
    selection: RewriteSelection,
    batches: Seq[ScannedFiles])
