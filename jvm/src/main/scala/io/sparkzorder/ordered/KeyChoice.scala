package io.sparkzorder.ordered

import scala.util.Try

import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils
import org.apache.spark.sql.catalyst.expressions.{Cast, Concat, Expression, Literal, ScalaUDF}
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser
import org.apache.spark.sql.execution.datasources.V1WriteCommand
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StringType

import io.sparkzorder.cluster.PlaceOfRow
import io.sparkzorder.conf.Settings
import io.sparkzorder.ordered.grid.StoredGrid

/**
 * Chooses how the rows of one write are ordered: `sort` or `cells`, by the stored grid or by values.
 *
 * @param columns the ordering columns of the write
 */
private[ordered] final class KeyChoice(
    declared: DeclaredWrite,
    columns: Seq[Expression],
    write: V1WriteCommand) {
  import KeyChoice._

  private val conf = SQLConf.get
  private val clause = s"the order is ${declared.order.clause}"

  /** @param stored the grid of the table, if it has one; read only if it may be used */
  def choose(stored: => Option[StoredGrid]): OrderKey =
    if (declared.order.lexical) OrderKey(declared.byValue(columns), None)
    else {
      stored match {
        case None => OrderKey(declared.byValue(columns), None)
        case Some(grid) if !fits(grid) =>
          OrderKey(declared.byValue(columns, "the stored grid has other columns or types"), None)
        case Some(grid) => byGrid(grid)
      }
    }

  private def fits(grid: StoredGrid): Boolean =
    grid.columns.size == columns.size &&
      grid.types == columns.map(_.dataType.json) &&
      grid.columns.map(CatalystSqlParser.parseMultipartIdentifier).zip(declared.order.columns)
        .forall { case (a, b) =>
          a.size == b.size && a.zip(b).forall { case (x, y) => conf.resolver(x, y) }
        }

  private def byGrid(grid: StoredGrid): OrderKey = {
    val files = expectedFiles
    val obstacle =
      if (declared.grade == Settings.WriteSort) Some("the setting write is sort")
      else if (write.bucketSpec.isDefined) Some("the table is bucketed")
      else if (!conf.adaptiveExecutionEnabled) Some("spark.sql.adaptive.enabled is false")
      else if (declared.grade == Settings.WriteAuto && files.forall(_ < MinFiles)) {
        Some(s"the rows fill less than $MinFiles files")
      } else None
    val cells = dealt(grid, files.getOrElse(MinFiles.toDouble))
    val place =
      PlaceOfRow(columns, FolderOfPath(path, cells), Literal(0L), cells.placement)
    obstacle match {
      case Some(why) if declared.isByColumns =>
        OrderKey(columns.map(DeclaredKey(_, Settings.WriteSort, s"$clause, and $why")), None)
      case Some(why) =>
        OrderKey(Seq(DeclaredKey(place, Settings.WriteSort, s"$clause, by the grid; $why")), None)
      case None =>
        val why =
          s"$clause, by the grid; ${files.fold("some")(f => f"about $f%.0f")} files expected"
        val marked = DeclaredKey(place, Settings.WriteCells, why)
        // equal places of one column are sorted by its values
        val more =
          if (declared.isByColumns) columns.map(DeclaredKey(_, Settings.WriteCells, why)) else Nil
        OrderKey(marked +: more, Some(DealByCells(cells, path)))
    }
  }

  /** Files that the rows fill, by Spark's estimate of their size. */
  private def expectedFiles: Option[Double] =
    // Spark refuses to estimate some sources before it has planned their scans
    Try(write.query.stats.sizeInBytes.toDouble / declared.targetFileSize).toOption

  private def dealt(grid: StoredGrid, files: Double): DealtCells = {
    val target = math.max(1L, (declared.targetFileSize * grid.shuffleRatio).toLong)
    // Several units a file, so that neighbours can be joined to the right size. Powers of two, so that
    // halves of them are halves of the grid.
    val wanted = math.ceil(UnitsPerFile * files)
    val units = Iterator.iterate(MinUnits)(_ * 2).find(u => u >= wanted || u >= MaxUnits).get
    val buckets =
      if (write.partitionColumns.isEmpty) 1
      else math.max(1, math.min(MaxBuckets, MaxUnits / units))
    new DealtCells(grid, buckets, units, target)
  }

  /** The directory of a row below the table, as Spark's writer makes it. */
  private lazy val path: Expression = {
    val parts = write.partitionColumns.map { c =>
      ScalaUDF(
        ExternalCatalogUtils.getPartitionPathString _,
        StringType,
        Seq(Literal(c.name), Cast(c, StringType, Some(conf.sessionLocalTimeZone))))
    }
    parts match {
      case Seq() => Literal("")
      case Seq(one) => one
      case several =>
        val first: Seq[Expression] = Seq(several.head)
        Concat(several.tail.foldLeft(first)((all, p) => all :+ Literal("/") :+ p))
    }
  }
}

private object KeyChoice {
  val MinFiles = 4
  val UnitsPerFile = 8
  val MinUnits = 64
  val MaxUnits = 2048
  val MaxBuckets = 32
}
