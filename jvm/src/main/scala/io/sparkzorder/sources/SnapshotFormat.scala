// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.commons.io.FileUtils.byteCountToDisplaySize
import org.apache.hadoop.fs.Path

import org.apache.spark.internal.Logging
import org.apache.spark.sql.{Column, SparkSession}
import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  AttributeReference,
  Expression,
  Literal,
  PredicateHelper
}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LeafNode, LocalRelation, SubqueryAlias}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.sparkzorder.SparkLine.{Frame, Session}
import org.apache.spark.sql.types.StructType

import io.sparkzorder.commands.{OrderingColumns, Phases, WhereClause}
import io.sparkzorder.commands.auto.ClusteringSpec
import io.sparkzorder.conf.{PinnedSession, Settings}
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.table.{OrderingColumn, WrittenName}
import io.sparkzorder.util.NameList

/** A table of Delta or Iceberg: the format lists the files, and commits changes by transactions of its own. */
private[sparkzorder] abstract class SnapshotFormat extends TableFormat with Logging {

  /** True for a table of a catalog, false for a directory. */
  def isNamed: Boolean

  /** The name of the format, such as `iceberg`. */
  def format: String

  /** Settings that the table's own properties imply, by key; any other source overrides them. */
  def defaults: Map[String, String]

  def schema: StructType

  /** Columns that have the same value in all rows of a folder. An order by them would not separate rows. */
  def partitionSchema: StructType

  /** True if the format keeps bounds of the column, so that files can be ordered by the column. */
  def hasBounds(column: OrderingColumn): Boolean

  /** The format's own statement that undoes the last run of OPTIMIZE; None if there is no run to undo. */
  def rollback: Option[String]

  /** Refuses a table that must not be rewritten. */
  def checkTable(): Unit

  /**
   * The files of the table as they are now.
   *
   * @param columns the columns whose ranges the snapshot reads
   * @param where if defined, the snapshot has only files that may hold matching rows
   */
  def snapshot(columns: Seq[OrderingColumn], where: Option[Expression]): FormatSnapshot

  override def settings(user: Session, options: Map[String, String]): Settings =
    new Settings(options, properties, user.conf.getAll, defaults).validate()

  override def orderWithoutLayout(statement: Statement): ClusteringSpec = {
    val declared =
      statement.settings.get(Settings.Columns).toSeq.flatMap(NameList.split).map(WrittenName.parts)
    if (declared.isEmpty) {
      throw ZOrderErrors.unsupportedTable(
        name,
        s"a table of the format $format without ordering columns",
        s"Add ZORDER BY, or use the format's own way: ${statement.ownStatement}")
    }
    ClusteringSpec(declared)
  }

  // Delta and Iceberg read settings from the active session
  override def inSession[T](user: Session)(body: Session => T): T = {
    val session = PinnedSession.ofFormat(user, format)
    val before = SparkSession.getActiveSession
    SparkSession.setActiveSession(session)
    try body(session)
    finally before.fold(SparkSession.clearActiveSession())(SparkSession.setActiveSession)
  }

  override def check(statement: Statement): Unit = {
    checkTable()
    if (statement.clauses.into.isDefined) {
      throw ZOrderErrors.unsupportedTable(
        name,
        s"a table of the format $format, which INTO does not take",
        "Leave INTO out.")
    }
    if (statement.clauses.options.keys.exists(_.equalsIgnoreCase(Settings.Publish.key))) {
      throw ZOrderErrors.unsupportedTable(
        name,
        s"a table of the format $format, whose files are published by its own commits",
        s"Leave ${Settings.Publish.key} out of OPTIONS.")
    }
    statement.where.foreach(WhereClause.checkForFormat(_, name))
  }

  // The first pass wrote files with other bounds. WHERE on data columns could leave some of them out.
  override def ofSecondPass(statement: Statement): Statement = statement.copy(where = None)

  override def list(statement: Statement): TableListing = new TableListing {
    private val columns =
      new OrderingColumns(name, statement.session.sessionState.conf.resolver)

    private def resolved(names: Seq[Seq[String]]) =
      Try(columns.resolve(names, schema, partitionSchema)).toOption

    override def canOrderBy(names: Seq[Seq[String]]): Boolean = resolved(names).isDefined

    override def sampled(names: Seq[Seq[String]], most: Int): TableSnapshot = {
      val known = names.flatMap(n => resolved(Seq(n))).flatten.distinct.filter(hasBounds)
      SnapshotFormat.this.snapshot(known.take(most), None)
    }

    override def snapshot(
        names: Seq[Seq[String]],
        settings: Seq[OrderingColumn] => Settings): TableSnapshot = {
      val ordering = columns.resolve(names, schema, partitionSchema)
      statement.phases("list") {
        SnapshotFormat.this.snapshot(ordering, statement.where.map(WhereClause.byName))
      }
    }
  }

  /** Makes cached queries of the session read the new files, which hold the same rows. */
  private[sources] def refresh(user: Session): Unit =
    try user.sql(s"REFRESH TABLE $name")
    catch {
      // not an error of the statement, which has committed
      case NonFatal(e) => logWarning(s"$name could not be refreshed in the session", e)
    }
}

/** The files of a table of a format at one moment. */
private[sparkzorder] abstract class FormatSnapshot(table: SnapshotFormat) extends TableSnapshot {
  override def leftOut: Seq[String] = Nil

  /** A name for each ordering column that a rename does not change. */
  protected def layoutNames: Seq[String]

  override def check(batches: Seq[IndexedSeq[FormatFile]], room: Long): Unit = ()

  /**
   * False if no plan may be stored, because it holds values of the ordering columns and the table is encrypted, or if
   * the format cannot carry it out.
   */
  protected def storesPlans: Boolean = true

  override lazy val plans: Option[RegionPlans] =
    if (columns.isEmpty || !storesPlans) None
    else {
      val conf = SparkLine.session(SparkSession.active).sessionState.newHadoopConf()
      Some(new RegionPlans(new Path(table.location), conf, columns, layoutNames))
    }

  override def finish(done: Seq[Rewritten], statement: Statement): Unit =
    if (done.nonEmpty && table.isNamed) {
      statement.phases("refresh")(table.refresh(statement.user))
    }

  override def effort(plans: Seq[BatchPlan]): Effort = {
    val files = plans.map(_.outputs.size).sum
    val bytes = plans.map(_.bytes).sum
    val text = s"a run writes $files files in as many tasks and needs about " +
      s"${byteCountToDisplaySize(bytes)} of free space until the format deletes the old files"
    Effort(bytes, if (files == 0) None else Some(text))
  }
}

/** Rows of a format that writes new files first, and commits them when they are written. */
private[sources] trait StagedRows extends FormatRows {
  type File <: FormatFile

  protected def session: Session

  protected def placed: PlacedRows

  override def frame: Frame = placed.frame
  override def folderColumn: String = placed.folderColumn
  override def rowHash: Column = placed.rowHash

  /**
   * Writes a frame: one file for each partition that has rows. The table does not change.
   *
   * @param pass the pass, which the names or the tags of the new files record, so that a later statement can
   *   continue the plan
   */
  protected def write(frame: Frame, pass: Option[PlannedPass]): StagedFiles[File]

  /** The commit of [[replace]]. */
  protected def commit(staged: StagedFiles[File], layout: LayoutTag): Unit

  /** Deletes the files of a write that is not committed. */
  protected def abort(staged: StagedFiles[File]): Unit

  final override def replace(plan: BatchPlan, layout: LayoutTag, phases: Phases)(
      guard: IndexedSeq[FormatFile] => Unit): Rewritten = {
    val staged = phases("write")(write(plan.byGrid(session, this, schema), plan.pass))
    phases("commit") {
      try guard(staged.files)
      catch {
        case e: Throwable =>
          abort(staged)
          throw e
      }
      commit(staged, layout)
    }
    Rewritten(
      staged.files,
      staged.shuffleBytes,
      dealt = plan.pass.filter(_.isFirst).fold(IndexedSeq.empty[DealtTo])(p =>
        staged.files.map(_.dealt.getOrElse(DealtTo(p.plan, 0)))))
  }
}

/**
 * New files that no commit has added yet.
 *
 * @param shuffled the bytes that their shuffle wrote. It is evaluated after the commit: the number may come late,
 *   and a later commit meets more conflicts
 */
private[sources] final class StagedFiles[F <: FormatFile](
    val files: IndexedSeq[F],
    shuffled: => Long) {
  lazy val shuffleBytes: Long = shuffled
}

/** Stands for a table while Spark resolves and simplifies a WHERE clause. */
private[sources] final case class ColumnsOfFormat(override val output: Seq[Attribute])
    extends LeafNode

/** Lets Spark resolve and simplify a WHERE clause, before it is translated to filters of a format. */
private[sources] object FormatFilter extends PredicateHelper {

  /**
   * @param where the condition, with unresolved columns
   * @param name the name of the table, quoted for SQL
   * @return the conjuncts of the simplified condition; None if no row can match
   */
  def simplified(where: Expression, name: String, schema: StructType): Option[Seq[Expression]] = {
    val session = SparkLine.session(SparkSession.active)
    val parts = session.sessionState.sqlParser.parseMultipartIdentifier(name)
    val columns = DataTypeUtils.toAttributes(schema)
    val table = SubqueryAlias(parts, ColumnsOfFormat(columns))
    val optimized = session.sessionState.executePlan(Filter(where, table)).optimizedPlan
    optimized.collectFirst {
      case f: Filter => Some(splitConjunctivePredicates(f.condition))
      case _: ColumnsOfFormat => Some(Nil)
      case _: LocalRelation => None
    }.getOrElse(throw new IllegalStateException(s"no filter in $optimized"))
      .filterNot(_.contains(Literal.FalseLiteral)).map(_.filterNot(_ == Literal.TrueLiteral))
      .map(_.map(named(_, columns)))
  }

  /** The condition with names as the table has them. Spark keeps the names of the statement, whose case may differ. */
  private def named(condition: Expression, columns: Seq[AttributeReference]): Expression =
    condition.transform { case a: AttributeReference =>
      columns.find(_.exprId == a.exprId).fold(a)(c => a.withName(c.name))
    }

  def untranslatable(where: Expression, name: String, problem: String): Throwable =
    ZOrderErrors.predicateNotTranslatable(
      Try(where.sql).getOrElse(where.toString),
      name,
      problem)
}
