// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping

import java.io.File
import java.net.URI
import java.nio.file.{Files, StandardCopyOption}
import java.nio.file.attribute.FileTime

import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Project}
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.functions.{expr, input_file_name}
import org.apache.spark.sql.sparkzorder.{SparkLine, TestAccess}
import org.apache.spark.sql.types.StructType

import io.sparkzorder.commands.OptimizeTestBase
import io.sparkzorder.conf.RelationConf
import io.sparkzorder.index.{ColumnValues, IndexStore}
import io.sparkzorder.index.WholeGenerations._
import io.sparkzorder.skipping.scan.{IndexPruning, TableRoots}

/** A scan in an optimized plan. */
final case class Scan(
    relation: HadoopFsRelation,
    output: Seq[Attribute],
    filters: Seq[Expression]) {
  def pruning: IndexPruning =
    new IndexPruning(relation, output, new TableRoots(None, new RelationConf(relation)))

  def files: Seq[FileStatus] =
    relation.location.listFiles(Nil, Nil).flatMap(_.files.map(_.fileStatus))

  /** Names of the files that must be read for the filters. */
  def kept(by: Seq[Expression] = filters): Set[String] = {
    val keep = pruning(by)
    files.filter(f => keep.forall(_(f))).map(_.getPath.getName).toSet
  }
}

/** What tests of skipping share: queries as Spark's optimizer leaves them, pruned by the index. */
abstract class SkippingTestBase extends OptimizeTestBase {

  def scanOf(plan: LogicalPlan): Scan = plan.collectFirst { case l: LogicalRelation =>
    val filters = plan.collect { case Filter(condition, _) => condition }
    Scan(l.relation.asInstanceOf[HadoopFsRelation], l.output, filters)
  }.get

  def scanOf(df: DataFrame): Scan = scanOf(df.queryExecution.optimizedPlan)

  /** A frame without rows, whose plans have expressions as Spark's analyzer and optimizer leave them. */
  def emptyFrame(schema: StructType): SparkLine.Frame = {
    val session = SparkLine.session(spark)
    TestAccess.internalFrame(session, session.sparkContext.emptyRDD[InternalRow], schema)
  }

  /** An expression as the optimizer leaves it, and the columns of `schema`. */
  def optimized(text: String, schema: StructType): (Expression, Seq[Attribute]) =
    emptyFrame(schema).selectExpr(s"$text f").queryExecution.optimizedPlan match {
      case Project(Seq(Alias(e, _)), child) => (e, child.output)
      case other => fail(other.toString)
    }

  /** Names of the files that hold rows of a query, as Spark reads them. */
  def matching(df: DataFrame): Set[String] = withoutSkipping {
    // the tables are small: DISTINCT would cost a shuffle for each query
    df.select(input_file_name()).collect()
      .map(r => new Path(new URI(r.getString(0))).getName).toSet
  }

  /** The same for many predicates of one frame, by one query. */
  def matchingEach(df: DataFrame, predicates: Seq[String]): Seq[Set[String]] = withoutSkipping {
    val rows = df.select(input_file_name() +: predicates.map(expr(_)): _*).collect()
    def name(file: String) = new Path(new URI(file)).getName
    predicates.indices.map(i =>
      rows.filter(_.get(i + 1) == true).map(r => name(r.getString(0))).toSet)
  }

  def withoutSkipping[T](body: => T): T = inConf("spark.zorder.skipping.enabled" -> "false")(body)

  /** The number of files kept; none where the optimizer knows that no row can match. */
  def keptByIndex(df: DataFrame): Int =
    if (df.queryExecution.optimizedPlan.exists(_.isInstanceOf[LogicalRelation])) {
      scanOf(df).kept().size
    } else 0

  /** Checks that no file with a matching row is let go, and gives the number of files kept. */
  def keptFiles(df: DataFrame): Int = {
    val kept = scanOf(df).kept()
    val lost = matching(df) -- kept
    assert(lost.isEmpty, s"files with rows that match ${df.queryExecution.optimizedPlan}")
    kept.size
  }

  /** [[keptFiles]] for many predicates of one frame, whose matching files are found by one query. */
  def keptFilesEach(df: DataFrame, predicates: Seq[String]): Seq[Int] =
    predicates.zip(matchingEach(df, predicates)).map { case (p, files) =>
      val plan = df.where(p).queryExecution.optimizedPlan
      val kept =
        if (plan.exists(_.isInstanceOf[LogicalRelation])) scanOf(plan).kept()
        else Set.empty[String]
      assert((files -- kept).isEmpty, s"files with rows that match $p")
      kept.size
    }

  /** One file for each frame as by [[filesOf]], but by one job for all frames of the same columns. */
  def filesAtOnce(dir: File, frames: DataFrame*): Unit = {
    def files = Option(dir.list()).toSeq.flatten.count(_.startsWith("part-"))
    val before = files
    // else Spark 4.1 makes one partition of frames that have one partition each
    inConf("spark.sql.unionOutputPartitioning" -> "false") {
      frames.groupBy(_.schema.map(f => (f.name, f.dataType.simpleString))).values.foreach(
        _.map(_.coalesce(1)).reduce(_ union _).write.mode("append").parquet(dir.getPath))
    }
    assert(files === before + frames.size)
  }

  /** One file for each frame, in one directory. */
  def filesOf(dir: File, frames: DataFrame*): Unit =
    frames.foreach(_.coalesce(1).write.mode("append").parquet(dir.getPath))

  def createIndex(dir: File): Unit = {
    val _ = sql(s"CREATE ZORDER INDEX ON '$dir'").collect()
  }

  def storeOf(dir: File): IndexStore =
    new IndexStore(new Path(s"file:$dir"), spark.sessionState.newHadoopConf())

  /** Changes the index as if files had said something else. */
  def rewriteIndex(dir: File)(change: ColumnValues => ColumnValues): Unit = {
    val _ = storeOf(dir).update { before =>
      val (header, content) = before.get
      val changed = content.columns.map { case (c, v) => c -> change(v) }
      (content.copy(columns = changed), header.chosen)
    }
  }

  /** Puts a copy of one data file in the place of another, as if it had been written later. */
  def overwrite(dir: File, name: String, by: String): Unit = {
    val file = new File(dir, name).toPath
    Files.copy(new File(dir, by).toPath, file, StandardCopyOption.REPLACE_EXISTING)
    new File(dir, s".$name.crc").delete()
    val _ = Files.setLastModifiedTime(
      file,
      FileTime.fromMillis(System.currentTimeMillis() + 5000))
  }
}
