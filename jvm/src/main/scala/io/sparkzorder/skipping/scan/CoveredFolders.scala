// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import java.time.ZoneId

import scala.util.control.NonFatal

import org.apache.hadoop.fs.Path

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils.unescapePathName
import org.apache.spark.sql.catalyst.expressions.{
  And,
  AttributeReference,
  BoundReference,
  Expression,
  Predicate
}
import org.apache.spark.sql.execution.datasources.{PartitioningUtils, PartitionSpec}
import org.apache.spark.sql.types.StructType

import io.sparkzorder.errors.ZOrderErrors

/**
 * Tells which folders a read covers although its listing does not show them. Such folders were
 * empty when the listing was made. Spark would find them now, below the paths that it reads.
 *
 * @param roots qualified directories that are read
 * @param spec partitions of the listing, including partitions that the filters leave out
 * @param base where Spark begins to read partition values from directory names, if the user said so
 * @param anyFile true when the listing shows a data file at all
 */
private[sparkzorder] final class CoveredFolders(
    roots: Set[Path],
    spec: PartitionSpec,
    base: Option[Path],
    recursive: Boolean,
    zone: ZoneId,
    filters: Seq[Expression],
    anyFile: => Boolean) {
  private val columns: StructType = spec.partitionColumns
  // two partitions of a catalog may lie in one folder
  private lazy val listed: Map[Path, Seq[InternalRow]] =
    spec.partitions.groupBy(_.path).map { case (path, same) => path -> same.map(_.values) }

  /** True when the read wants a folder's files, judged by its name and, if listed, its values. */
  def covers(folder: Path): Boolean = rootOf(folder).exists { root =>
    if (recursive) true
    else if (columns.nonEmpty) {
      listed.get(folder).map(_.exists(passes)).getOrElse(segments(root, folder).isDefined)
    } else folder == root || (!anyFile && levels(root, folder).forall(_.contains('=')))
  }

  /** True when the read names the folder, or a directory above it, rather than single files. */
  def isBelowRoot(folder: Path): Boolean = rootOf(folder).isDefined

  /** True when a listing without partitions has the files of this one directory and no others. */
  def isAllOf(folder: Path): Boolean = !recursive && columns.isEmpty && roots == Set(folder)

  /**
   * Partition values of a covered folder, once for each partition that lies there; none when the filters leave
   * the folder out.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_LISTING_INCOMPLETE when the values do not
   *   fit the schema that Spark has read from the names of the other folders
   */
  def valuesOf(folder: Path): Seq[InternalRow] =
    if (recursive) Seq(InternalRow.empty)
    else {
      val root = rootOf(folder).get
      if (columns.nonEmpty) listed.getOrElse(folder, Seq(parse(root, folder))).filter(passes)
      else if (levels(base.getOrElse(root), folder).exists(_.contains('='))) {
        throw ZOrderErrors.listingIncomplete(
          folder.toString,
          "without them no partition column was found")
      } else Seq(InternalRow.empty)
    }

  private def parse(root: Path, folder: Path): InternalRow =
    InternalRow.fromSeq(segments(root, folder).get.zip(columns).map { case (raw, column) =>
      try PartitioningUtils.castPartValueToDesiredType(column.dataType, raw, zone)
      catch {
        case NonFatal(e) =>
          throw ZOrderErrors.listingIncomplete(
            folder.toString,
            s"without them the column ${column.name} became ${column.dataType.sql}: ${e.getMessage}")
      }
    })

  /** Raw values of the partition columns, if the directories are named by exactly these columns. */
  private def segments(root: Path, folder: Path): Option[Seq[String]] = {
    val parts = levels(base.getOrElse(root), folder).map(_.split("=", 2))
    val fits = parts.size == columns.size && parts.zip(columns).forall {
      case (Array(name, _), column) => unescapePathName(name).equalsIgnoreCase(column.name)
      case _ => false
    }
    if (fits) Some(parts.map(_(1))) else None
  }

  /** Names of the directories from `ancestor`, not included, down to `folder`. */
  private def levels(ancestor: Path, folder: Path): Seq[String] =
    Iterator.iterate(folder)(_.getParent).takeWhile(d => d != null && d != ancestor)
      .map(_.getName).toList.reverse

  private def rootOf(folder: Path): Option[Path] =
    Iterator.iterate(folder)(_.getParent).takeWhile(_ != null).find(roots.contains)

  // binds filters to partition columns by name, as Spark's own index does
  private lazy val passes: InternalRow => Boolean = {
    val names = columns.map(_.name).toSet
    val usable = filters.filter(_.references.map(_.name).toSet.subsetOf(names))
    if (usable.isEmpty) _ => true
    else {
      val bound = Predicate.createInterpreted(usable.reduce(And).transform {
        case a: AttributeReference =>
          val i = columns.indexWhere(_.name == a.name)
          BoundReference(i, columns(i).dataType, nullable = true)
      })
      bound.eval _
    }
  }
}
