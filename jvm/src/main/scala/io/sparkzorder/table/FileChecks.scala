// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table

import java.nio.file.{Files, Path => LocalPath}
import java.time.ZoneId

import scala.util.Try

import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.sql.catalyst.catalog.CatalogTablePartition
import org.apache.spark.sql.catalyst.util.TypeUtils
import org.apache.spark.sql.execution.datasources.{BucketingUtils, PartitioningUtils}

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.util.{ModificationTimes, RawFiles}

/** Refuses tables for reasons that only the listing of their partitions and files shows. */
private[sparkzorder] object FileChecks {
  // The name of a file that Spark wrote into a bucket. The number at its end is not enough, because other
  // programs put numbers there, too.
  private val SparksName = "^part-\\d+-[0-9a-f-]{36}_\\d+".r

  /** Refuses a table if the SerDe of one of its partitions is of another format. In Hive, each has its own. */
  def checkPartitions(target: Target, partitions: Seq[CatalogTablePartition]): Unit =
    for {
      partition <- partitions
      serde <- partition.storage.serde
      if !DataFormat.ofStorage(partition.storage).contains(target.format)
    } {
      val spec = partition.spec.map { case (k, v) => s"$k=$v" }.mkString("/")
      val title = target.format.title
      TargetChecks.refuse(
        target,
        s"a Hive-format table whose partition $spec is no $title ($serde)",
        s"Rewrite this partition as $title first.")
    }

  /**
   * Refuses symbolic links among the files that will be replaced, and among their folders. Hadoop follows a link
   * silently, so a rename below a linked folder would change another directory. Only local disks have such links.
   */
  def checkLinks(target: Target, files: TableFiles): Unit =
    firstLink(files).foreach { link =>
      throw ZOrderErrors.symbolicLink(target.name, link.toString)
    }

  /**
   * Refuses files whose modification time stays the same when they are replaced. If another program wrote such a file
   * again, readers would take it for the file that OPTIMIZE has replaced, and leave out its rows.
   *
   * @param now looks a file up; None if the file is gone. A listing of local disk has the time 0 for a file that was
   *   removed or renamed during the listing
   */
  def checkTimes(target: Target, files: TableFiles, now: Path => Option[FileStatus]): Unit =
    files.files.find(f =>
      !ModificationTimes.tellChanges(f.modified) &&
        now(f.path).exists(s => !ModificationTimes.tellChanges(s.getModificationTime))).foreach {
      f =>
        throw ZOrderErrors.storeUnsafe(
          target.name,
          String.valueOf(f.path.toUri.getScheme),
          s"the modification time of ${f.path} is ${f.modified} ms since 1970, which stays the same when the file is " +
            "replaced. Set the present time (`touch`) if the file system stores it")
    }

  /**
   * Refuses partitions whose directories are not named after their values. The copy that INTO makes has no
   * catalog, so its readers take the values from the names of directories.
   *
   * @param zone the time zone of the session, by which the name of a directory is read as a TIMESTAMP
   */
  def checkNames(target: Target, files: TableFiles, zone: ZoneId): Unit = target match {
    case CatalogTarget(table) if table.tracksPartitionsInCatalog =>
      // this also finds two partitions that share a directory, because its name fits only one of them
      files.folders.find(f => !isNamedByValues(files, f, zone)).foreach { folder =>
        TargetChecks.refuse(
          target,
          s"a table whose directory ${folder.path} does not tell the values of its partition",
          "A copy would have other rows. Give each partition a directory such as column=value first.")
      }
    case _ => // the values come from the names
  }

  private def isNamedByValues(files: TableFiles, folder: Folder, zone: ZoneId): Boolean = {
    val columns = files.partitionSchema
    val texts = PartitionNames.texts(columns, files.root, folder.path)
    texts.exists(_.zip(columns).zipWithIndex.forall { case ((text, column), i) =>
      val value = folder.values.get(i, column.dataType)
      Try(PartitioningUtils.castPartValueToDesiredType(column.dataType, text, zone)).toOption
        .exists { named =>
          if (named == null || value == null) named == value
          else TypeUtils.getInterpretedOrdering(column.dataType).equiv(named, value)
        }
    })
  }

  /**
   * Refuses two mistakes that only the names of the listed files show: a format other than the one
   * that the statement names, and a bucketed table that is named by its path.
   */
  def checkFiles(target: Target, files: TableFiles): Unit = {
    DataFormat.all.filter(_ != target.format).foreach { other =>
      if (files.files.nonEmpty && files.files.forall(_.path.getName.endsWith("." + other.name))) {
        TargetChecks.refuse(
          target,
          s"a directory of ${other.title} files",
          s"Name it as ${other.name}.`${target.location}`.")
      }
    }
    // for a table that the statement names, the catalog says whether it has buckets
    val isNamed = target.isInstanceOf[CatalogTarget]
    // a new file that is not published yet has a hidden name such as `_new_3_12`, which says nothing about buckets
    val names = files.files.map(_.path.getName).filterNot(_.startsWith("_"))
    val bucketed = names.forall(n =>
      SparksName.findFirstIn(n).isDefined && BucketingUtils.getBucketId(n).isDefined)
    if (names.nonEmpty && bucketed && !isNamed) {
      TargetChecks.refuse(
        target,
        "bucketed, as the names of its files say",
        "Rewriting would break the buckets.")
    }
  }

  /** The first link below the table's root; the root itself may be reached by a link. */
  private def firstLink(files: TableFiles): Option[LocalPath] =
    if (files.root.toUri.getScheme != "file") None
    else {
      val root = RawFiles.local(files.root)
      val folders = files.folders.map(f => RawFiles.local(f.path)).flatMap { folder =>
        Iterator.iterate(folder)(_.getParent).takeWhile(f => f != null && f != root)
      }.distinct
      (folders.iterator ++ files.files.iterator.map(f => RawFiles.local(f.path)))
        .find(Files.isSymbolicLink(_))
    }
}
