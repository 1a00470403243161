// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table

import java.time.ZoneId

import scala.util.control.NonFatal

import org.apache.hadoop.fs.Path

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils.unescapePathName
import org.apache.spark.sql.execution.datasources.PartitioningUtils
import org.apache.spark.sql.types.StructType

import io.sparkzorder.errors.ZOrderErrors

/** The values of a partition in the names of its directories, such as `p=1/q=x`. */
private[sparkzorder] object PartitionNames {

  /**
   * The texts of the values in the names of the directories from `ancestor`, not included, down to `folder`. None if
   * the directories are not named by exactly these columns, in any case of letters.
   */
  def texts(columns: StructType, ancestor: Path, folder: Path): Option[Seq[String]] = {
    val parts = levels(ancestor, folder).map(_.split("=", 2))
    val fits = parts.size == columns.size && parts.zip(columns).forall {
      case (Array(name, _), column) => unescapePathName(name).equalsIgnoreCase(column.name)
      case _ => false
    }
    if (fits) Some(parts.map(_(1))) else None
  }

  /**
   * The values of the columns, as Spark reads them from these texts.
   *
   * @param folder the directory, for the error
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_LISTING_INCOMPLETE when a text is no value of the type
   *   that Spark has inferred for the column from the names of the other folders
   */
  def values(
      columns: StructType,
      texts: Seq[String],
      folder: Path,
      zone: ZoneId): InternalRow =
    InternalRow.fromSeq(texts.zip(columns).map { case (text, column) =>
      try PartitioningUtils.castPartValueToDesiredType(column.dataType, text, zone)
      catch {
        case NonFatal(e) =>
          throw ZOrderErrors.listingIncomplete(
            folder.toString,
            s"Spark inferred ${column.dataType.sql} for the column ${column.name} from the names of the " +
              s"other folders: ${e.getMessage}")
      }
    })

  /** Names of the directories from `ancestor`, not included, down to `folder`. */
  def levels(ancestor: Path, folder: Path): Seq[String] =
    Iterator.iterate(folder)(_.getParent).takeWhile(d => d != null && d != ancestor)
      .map(_.getName).toList.reverse
}
