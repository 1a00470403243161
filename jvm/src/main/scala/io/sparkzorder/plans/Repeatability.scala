// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.plans

import scala.collection.JavaConverters._
import scala.util.Try

import org.apache.spark.SparkEnv
import org.apache.spark.sql.catalyst.FileSourceOptions
import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.catalyst.plans.QueryPlan
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.{ScalarSubquery => _, _}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.columnar.{InMemoryRelation, InMemoryTableScanExec}
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.{
  BatchScanExec,
  DataSourceV2Relation,
  DataSourceV2ScanRelation,
  FileScan,
  FileTable
}
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec
import org.apache.spark.sql.types._
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.sparkzorder.ordering.TypeBridge

/**
 * Whether a plan gives the same rows again. Three callers need that:
 *
 * - A write that shuffles its rows. If an executor is lost, Spark repeats the tasks whose output was lost with
 *   it. The shuffle then distributes the rows of these tasks once more, while some files are already written. A row
 *   that differs from its first version may belong to another cell, and would be written twice or not at all.
 *   Spark's plain INSERT has no shuffle between the query and the files, so only our shuffle has this problem.
 * - A write that samples its input reads the input twice.
 * - The side of a join that provides the keys of a filter may run once for the join and once for the keys. If
 *   only the run for the join has a key, the files with this key would be skipped.
 *
 * Rows differ if the query is not deterministic. They also differ if the query depends on the order of its
 * rows after an earlier shuffle, because blocks arrive in any order, or if a source gives other rows the
 * second time.
 */
private[sparkzorder] object Repeatability {

  // Parts of the names of operators that see many rows at once. Names and not classes, because Spark's versions
  // have different classes. A logical operator and its physical operator have similar names.
  private val OfManyRows = Seq(
    "MapPartitions",
    "MapIn",
    "MapGroups",
    "FlatMap",
    "CoGroup",
    "ScriptTransformation",
    "TransformWithState",
    // row numbers of pandas-on-Spark
    "AttachDistributedSequence")

  /** Why the rows may differ when Spark computes a part of them again. The reason may also be a source. */
  def obstacle(query: LogicalPlan): Option[String] = in(query, ofNodeOrSource)

  /**
   * True if two runs of a plan, within one query, give the same rows as long as the sources of the plan do. The
   * second run also computes the subqueries again.
   */
  def makesSameRows(plan: LogicalPlan): Boolean =
    (plan +: plan.subqueriesAll).forall(p => !p.exists(isElsewhere) && in(p, ofNode).isEmpty)

  /** True if Spark computes the same value of one row each time. */
  def isSameValue(e: Expression): Boolean = e.deterministic && !e.exists {
    case call: StaticInvoke => isRandomlyEncrypted(call)
    case _ => false
  }

  /**
   * True for a call of `aes_encrypt` that draws a random initialization vector. Spark takes such a call for
   * deterministic.
   *
   * Arguments: input, key, mode, padding, initialization vector.
   */
  private def isRandomlyEncrypted(call: StaticInvoke): Boolean =
    call.functionName == "aesEncrypt" && (call.arguments match {
      case Seq(_, _, mode, _, vector, _*) =>
        val isEcb = Try(String.valueOf(mode.eval()).equalsIgnoreCase("ECB")).getOrElse(false)
        val hasVector = vector match {
          case Literal(bytes: Array[Byte], _) => bytes.nonEmpty
          case _ => false
        }
        !isEcb && !hasVector
      case _ => true
    })

  /** True for a function of Python whose result may depend on the batches in which it gets the rows. */
  def seesBatches(e: Expression): Boolean = e.exists {
    case udf: PythonUDF => !RowByRow(udf.evalType)
    case _ => false
  }

  // functions of single rows, whose rows go to Python as pickles (SQL_BATCHED_UDF of Spark's private
  // PythonEvalType) or by Arrow (SQL_ARROW_BATCHED_UDF)
  private val RowByRow = Set(100, 101)

  private def in(plan: QueryPlan[_], of: QueryPlan[_] => Option[String]): Option[String] = {
    val inner = plan match {
      // Spark computes cached rows again if an executor loses them
      case cached: InMemoryRelation => Seq(cached.cacheBuilder.cachedPlan)
      case scan: InMemoryTableScanExec => Seq(scan.relation.cacheBuilder.cachedPlan)
      case adaptive: AdaptiveSparkPlanExec => Seq(adaptive.initialPlan)
      case _ => plan.children.map(_.asInstanceOf[QueryPlan[_]]) ++ joined(plan)
    }
    of(plan).orElse(first(inner.iterator.map(in(_, of))))
  }

  /** True for a node whose rows are computed in another place of the query. */
  private def isElsewhere(node: LogicalPlan): Boolean =
    node.isInstanceOf[CTERelationRef] || node.nodeName == "UnionLoopRef"

  private def first(found: Iterator[Option[String]]): Option[String] =
    found.collectFirst { case Some(why) => why }

  /** The subqueries that Spark turns into joins later. Each other subquery runs once, and Spark keeps its result. */
  private def joined(node: QueryPlan[_]): Seq[LogicalPlan] =
    node.expressions.flatMap(_.collect {
      case subquery: SubqueryExpression if isJoined(subquery) => subquery.plan
    })

  private def isJoined(subquery: SubqueryExpression): Boolean = subquery match {
    case scalar: ScalarSubquery => scalar.isCorrelated
    case _ => true
  }

  private def ofNodeOrSource(node: QueryPlan[_]): Option[String] = ofNode(node).orElse(node match {
    case _ if node.expressions.exists(seesBatches) =>
      Some("a function of Python gets batches of rows and may depend on their order")
    case leaf if leaf.children.isEmpty && !isStored(leaf) =>
      Some(s"${leaf.nodeName} may return other rows when it is read again")
    case _ => None
  })

  /** Why the node itself may return other rows, although its input has the same rows again. */
  private def ofNode(node: QueryPlan[_]): Option[String] = node match {
    case _: GlobalLimit | _: LocalLimit | _: Offset | _: Tail | _: LimitExec |
        _: TakeOrderedAndProjectExec =>
      Some("the query has a limit")
    case _: Sample | _: SampleExec => Some("the query draws a sample")
    // a function of many rows sees them in the order in which they come
    case _ if OfManyRows.exists(node.nodeName.contains) =>
      Some(s"the operator ${node.nodeName} may depend on the order of its rows")
    case _ if node.expressions.exists(!isSameValue(_)) => Some("the query is not deterministic")
    case _ if node.expressions.exists(_.exists(_.getClass.getSimpleName == "HiveGenericUDTF")) =>
      Some("a table function of Hive may depend on the order of its rows")
    case leaf if leaf.children.isEmpty && mayLeaveFilesOut(leaf) =>
      Some("files that cannot be read are left out")
    case _ if groupingKeys(node).exists(k => hasEqualTexts(k.dataType)) =>
      Some("if texts are equal by their collation, a group keeps the one that comes first")
    case _ => first(node.expressions.iterator.map(ordered))
  }

  /**
   * True if Spark skips files that it cannot read, for example a file that was removed after the first
   * reading.
   */
  private def mayLeaveFilesOut(leaf: QueryPlan[_]): Boolean = {
    def mayBy(options: Map[String, String]): Boolean = {
      val parsed = new FileSourceOptions(CaseInsensitiveMap(options))
      parsed.ignoreMissingFiles || parsed.ignoreCorruptFiles
    }
    leaf match {
      case relation: LogicalRelation => relation.relation match {
          case files: HadoopFsRelation => mayBy(files.options)
          case _ => false
        }
      case scan: FileSourceScanLike => mayBy(scan.relation.options)
      case relation: DataSourceV2Relation => mayBy(relation.options.asScala.toMap)
      case scanned: DataSourceV2ScanRelation => mayBy(scanned.relation.options.asScala.toMap)
      case scan: BatchScanExec => mayBy(optionsOf(scan.scan))
      // the node is a class of another module
      case hive
          if hive.isInstanceOf[HiveTableRelation] ||
            hive.getClass.getSimpleName == "HiveTableScanExec" =>
        mayBy(Map.empty) || mayRddsLeaveFilesOut
      case _ => false
    }
  }

  /** The read options of a scan; they are a field of each scan of files, but of no class that all have. */
  private def optionsOf(scan: Scan): Map[String, String] = scan match {
    case files: FileScan with Product =>
      files.productIterator.collectFirst { case m: CaseInsensitiveStringMap => m.asScala.toMap }
        .getOrElse(Map.empty)
    case _ => Map.empty
  }

  /** As `mayLeaveFilesOut`, by the settings of Spark's core. Spark 3.5 reads tables of Hive with these settings. */
  private def mayRddsLeaveFilesOut: Boolean = Option(SparkEnv.get).exists(env =>
    Seq("ignoreMissingFiles", "ignoreCorruptFiles")
      .exists(s => env.conf.getBoolean(s"spark.files.$s", defaultValue = false)))

  /** Leaves that give the same rows when they are read again: files, and rows of the plan itself. */
  private def isStored(leaf: QueryPlan[_]): Boolean = leaf match {
    case relation: LogicalRelation => relation.relation.isInstanceOf[HadoopFsRelation]
    case relation: DataSourceV2ScanRelation => isOfFiles(relation.scan)
    case relation: DataSourceV2Relation =>
      relation.table.isInstanceOf[FileTable] || isOfIceberg(relation.table)
    case _: InMemoryRelation | _: InMemoryTableScanExec | _: AdaptiveSparkPlanExec => true
    case scan: BatchScanExec => isOfFiles(scan.scan)
    case hive: HiveTableRelation => !isOfHandler(hive)
    case _: LocalRelation | _: Range | _: OneRowRelation => true
    case _: CTERelationRef => true
    case _: FileSourceScanLike | _: LocalTableScanExec | _: RangeExec => true
    // the exchange that is reused is elsewhere in the plan, and is checked there
    case _: ReusedExchangeExec => true
    case other => other.output.isEmpty || Stored(other.getClass.getSimpleName)
  }

  /** A table of Hive whose rows come from another system, such as a database. */
  private def isOfHandler(table: HiveTableRelation): Boolean = {
    val meta = table.tableMeta
    (meta.properties ++ meta.storage.properties).contains("storage_handler") ||
    meta.storage.inputFormat.isEmpty
  }

  private def isOfFiles(scan: Scan): Boolean = scan.isInstanceOf[FileScan] || isOfIceberg(scan)

  /** Iceberg reads one snapshot. */
  private def isOfIceberg(part: AnyRef): Boolean =
    part.getClass.getName.startsWith("org.apache.iceberg.")

  // names, because some versions of Spark do not have these classes, or have them in another module
  private val Stored =
    Set(
      "HiveTableScanExec",
      "EmptyRelationExec",
      "OneRowRelationExec",
      "CommandResult",
      "CommandResultExec")

  private def groupingKeys(node: QueryPlan[_]): Seq[Expression] = node match {
    case a: Aggregate => a.groupingExpressions
    case a: BaseAggregateExec => a.groupingExpressions
    case _ => Nil
  }

  /** Texts that differ in bytes and are equal in their collation. */
  private def hasEqualTexts(dataType: DataType): Boolean = dataType match {
    case text: StringType => !TypeBridge.isTextInBinaryOrder(text)
    case s: StructType => s.exists(f => hasEqualTexts(f.dataType))
    case a: ArrayType => hasEqualTexts(a.elementType)
    case m: MapType => hasEqualTexts(m.keyType) || hasEqualTexts(m.valueType)
    case _ => false
  }

  /**
   * True if values of the type can differ in bytes and be one grouping key: texts of a collation, -0.0 and 0.0, and
   * maps whose entries are in another order. An expression such as `1 / x` tells such values apart.
   */
  private[sparkzorder] def hasEqualValues(dataType: DataType): Boolean =
    hasEqualTexts(dataType) || (dataType match {
      case FloatType | DoubleType | _: MapType => true
      case s: StructType => s.exists(f => hasEqualValues(f.dataType))
      case a: ArrayType => hasEqualValues(a.elementType)
      case _ => false
    })

  private def ordered(e: Expression): Option[String] =
    e.collectFirst {
      case a: AggregateExpression if !isFreeOfOrder(a.aggregateFunction) =>
        a.aggregateFunction.prettyName
      case w: WindowExpression if !isFreeOfOrder(w) =>
        w.windowFunction match {
          case a: AggregateExpression => a.aggregateFunction.prettyName
          case function => function.prettyName
        }
    }.map(name => s"$name may depend on the order of its rows")

  private def isFreeOfOrder(window: WindowExpression): Boolean =
    window.windowFunction match {
      // rows of equal rank get the same value
      case _: Rank | _: DenseRank | _: PercentRank | _: CumeDist => true
      case _: AggregateExpression =>
        window.windowSpec.frameSpecification match {
          case SpecifiedWindowFrame(RowFrame, UnboundedPreceding, UnboundedFollowing) => true
          case SpecifiedWindowFrame(RangeFrame, _, _) => true
          case _ => false
        }
      case _ => false
    }

  private def isFreeOfOrder(function: AggregateFunction): Boolean = function match {
    case _: Count | _: HyperLogLogPlusPlus => true
    // of several equal values, such as -0.0 and 0.0, the result is the first
    case _: Min | _: Max => !hasEqualValues(function.dataType)
    case _: BitAndAgg | _: BitOrAgg | _: BitXorAgg | _: BloomFilterAggregate => true
    case s: Sum => isExact(s)
    // Spark sums the whole numbers of an average as DOUBLEs, which are exact up to 2^53. The sum of 4.2 million INTs
    // may be larger. SMALLINTs would need 2.7 * 10^11 rows.
    case a: Average => a.child.dataType match {
        case IntegerType => false
        case other => hasRoomForSum(other)
      }
    case _ => false
  }

  /** Whether the sum is the same in every order of the rows, even if a partial sum overflows. */
  private def isExact(sum: Sum): Boolean = sum.child.dataType match {
    // a partial sum that overflows wraps around or fails; only with try_sum does it become NULL
    case LongType => !isTry(sum)
    // the last bits of a sum of floating-point numbers depend on the order
    case other => hasRoomForSum(other)
  }

  // before Spark 4.1, a Sum has the mode as a parameter; since then, the mode is a field of a context
  private def isTry(sum: Sum): Boolean = {
    val modes = sum.productIterator.toSeq.flatMap {
      case _: Expression => Nil
      case context: scala.Product => context.productIterator.toSeq
      case mode => Seq(mode)
    }
    modes.exists(_ == EvalMode.TRY)
  }

  /**
   * True if no partial sum can overflow. Spark adds ten digits to the type of a sum of DECIMALs. If the type
   * has no room for ten more digits, a partial sum may become NULL or fail.
   */
  def hasRoomForSum(dataType: DataType): Boolean = dataType match {
    case ByteType | ShortType | IntegerType => true
    case d: DecimalType => d.precision + 10 <= DecimalType.MAX_PRECISION
    case _ => false
  }
}
