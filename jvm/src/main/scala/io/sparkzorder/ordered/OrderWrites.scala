// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordered

import scala.util.control.NonFatal

import org.apache.hadoop.fs.Path

import org.apache.spark.internal.Logging
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, ExtractValue, Literal}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.COMMAND
import org.apache.spark.sql.execution.command.CreateDataSourceTableAsSelectCommand
import org.apache.spark.sql.execution.datasources.{V1WriteCommand, WriteFiles}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.types.StructType

import io.sparkzorder.conf.Settings
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.ordered.grid.GridStore
import io.sparkzorder.ordering.OrderedType

/**
 * Sorts the rows of each write into a table with a declared order.
 *
 * Every V1 write of Spark runs as a [[V1WriteCommand]]: INSERT, `insertInto`, `saveAsTable` and `save`, also
 * over Connect and for tables in Hive's format. This rule runs just before the batch in which Spark's own
 * rule `V1Writes` adds a sort by the partition columns. `V1Writes` adds no sort if the rows are already sorted by
 * these columns first. So the sort of this rule begins with them.
 *
 * A write never fails because of its declared order. Where the order cannot be used, the rule warns
 * and leaves the write as it is.
 */
private[sparkzorder] final case class OrderWrites(session: SparkSession) extends Rule[LogicalPlan]
    with Logging {

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!Settings.ofSession(Settings.Enabled)) plan
    else {
      plan.transformUpWithPruning(_.containsPattern(COMMAND)) {
        case write: V1WriteCommand if !write.child.isInstanceOf[WriteFiles] => ordered(write)
        case create: CreateDataSourceTableAsSelectCommand => ordered(create)
      }
    }

  private def ordered(write: V1WriteCommand): LogicalPlan = {
    val cached = tableOf(write)
    val table = cached.map(asDeclaredNow)
    attempt(write, table) {
      OrderedQuery.mark(write.query) match {
        case Some(OrderedQuery.Complete) => write
        // `ordered(create)` has put the key on the query of a CREATE TABLE AS SELECT
        case Some(OrderedQuery.KeyOnly(keys, query)) =>
          val chosen = DeclaredWrite.nestedIn(keys).fold(OrderKey(keys, None)) {
            case (declared, columns) => key(declared, columns, table, write, query)
          }
          new OrderedQuery(write).by(chosen, query)
        case None =>
          DeclaredWrite.of(table, optionsOf(write, cached)).flatMap { declared =>
            known(table, KeyColumns.find(declared.order, write.outputColumns, dataOnly(write)))
              .map(columns =>
                new OrderedQuery(write).by(
                  key(declared, columns, table, write, write.query),
                  write.query))
          }.getOrElse(write)
      }
    }
  }

  /**
   * Sorts the query of a CREATE TABLE AS SELECT by the marked key. Spark plans the write of this command later and
   * apart, as a nested write that does not know the table. There this rule finds the mark and adds the partition
   * columns.
   */
  private def ordered(create: CreateDataSourceTableAsSelectCommand): LogicalPlan =
    attempt(create, Some(create.table)) {
      if (OrderedQuery.mark(create.query).isDefined) create
      else {
        DeclaredWrite.of(Some(create.table), Map.empty).flatMap { declared =>
          val columns =
            create.query.output.zip(create.outputColumnNames).map { case (a, n) => a.withName(n) }
          val partitions = create.table.partitionColumnNames
          def isData(name: String) = !partitions.exists(conf.resolver(_, name))
          known(Some(create.table), KeyColumns.find(declared.order, columns, isData))
            .map(found =>
              create.copy(query = OrderedQuery.keyOnly(declared.nested(found), create.query)))
        }.getOrElse(create)
      }
    }

  private def key(
      declared: DeclaredWrite,
      columns: Seq[Expression],
      table: Option[CatalogTable],
      write: V1WriteCommand,
      query: LogicalPlan): OrderKey = {
    val state = SparkLine.session(session).sessionState
    val conf = state.newHadoopConf()
    val directory = table.flatMap(_.storage.locationUri).map(new Path(_))
      .orElse(write.productIterator.collectFirst { case p: Path => p })
    def grid = directory.flatMap { d =>
      new GridStore(d.getFileSystem(conf).makeQualified(d), conf).read()
    }
    new KeyChoice(declared, columns, write, query, state.optimizer.execute).choose(grid)
  }

  private def dataOnly(write: V1WriteCommand): String => Boolean = {
    val partitions = write.partitionColumns.map(_.name) ++ write.staticPartitions.keys
    name => !partitions.exists(conf.resolver(_, name))
  }

  private def known[T](table: Option[CatalogTable], found: Either[String, T]): Option[T] =
    found match {
      case Right(columns) => Some(columns)
      case Left(problem) =>
        warn(table, problem)
        None
    }

  private def attempt(command: LogicalPlan, table: Option[CatalogTable])(
      body: => LogicalPlan): LogicalPlan =
    try body
    catch {
      case NonFatal(e) =>
        warn(table, ZOrderErrors.firstLine(e))
        command
    }

  private def warn(table: Option[CatalogTable], problem: String): Unit = {
    val name = table.fold("a directory")(_.identifier.unquotedString)
    logWarning(s"rows are written to $name without the declared order: $problem")
  }

  /**
   * The catalog table of a write. Hive's command has a CatalogTable, Spark's own an Option[CatalogTable].
   */
  private def tableOf(write: V1WriteCommand): Option[CatalogTable] =
    write.productIterator.collectFirst {
      case t: CatalogTable => t
      case Some(t: CatalogTable) => t
    }

  /**
   * The options of the writer. Spark adds the options that the table had when the session first read its metadata.
   * These options may be out of date, so they must not take precedence over what is declared now.
   */
  private def optionsOf(
      write: V1WriteCommand,
      cached: Option[CatalogTable]): Map[String, String] = {
    val stored = cached.toSeq.flatMap(_.storage.properties)
    write.options.filterNot { case (key, value) =>
      stored.exists { case (k, v) => k.equalsIgnoreCase(key) && v == value }
    }
  }

  /**
   * The current metadata of a table. A session caches the metadata that it read first, even after another
   * session has declared an order.
   */
  private def asDeclaredNow(table: CatalogTable): CatalogTable =
    try SparkLine.session(session).sessionState.catalog.getTableMetadata(table.identifier)
    catch { case NonFatal(_) => table }
}

/** Finds the columns of a declared order among the columns that a write writes. */
private[ordered] object KeyColumns {

  /**
   * @param output the written columns, with the names that they have in the table
   * @param isData false for the name of a partition column
   * @return the columns, or why the order cannot be used. Tables change: a column may have been
   *   dropped or renamed since the order was declared
   */
  def find(
      order: DeclaredOrder,
      output: Seq[Attribute],
      isData: String => Boolean): Either[String, Seq[Expression]] = {
    val found = order.columns.map(find(_, output.filter(a => isData(a.name))))
    found.collectFirst { case Left(problem) => problem } match {
      case Some(problem) => Left(problem)
      case None => Right(found.collect { case Right(column) => column })
    }
  }

  private def find(parts: Seq[String], output: Seq[Attribute]): Either[String, Expression] = {
    val name = parts.mkString(".")
    val sameName = SQLConf.get.resolver
    output.find(a => sameName(a.name, parts.head)) match {
      case None => Left(s"the written rows have no data column $name")
      case Some(column) =>
        val field = parts.tail.foldLeft[Option[Expression]](Some(column)) { (in, part) =>
          in.filter(_.dataType match {
            case s: StructType => s.fieldNames.count(sameName(_, part)) == 1
            case _ => false
          }).map(ExtractValue(_, Literal(part), sameName))
        }
        field match {
          case None => Left(s"the written rows have no data column $name")
          case Some(f) if OrderedType.of(f.dataType).isEmpty =>
            Left(s"the column $name has the type ${f.dataType.sql}, which has no order")
          case Some(f) => Right(f)
        }
    }
  }
}
