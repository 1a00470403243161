package io.sparkzorder.table

import java.nio.file.{Files, Path => LocalPath, Paths}

import org.apache.hadoop.fs.Path

import org.apache.spark.sql.catalyst.catalog.CatalogTablePartition
import org.apache.spark.sql.execution.datasources.BucketingUtils

import io.sparkzorder.errors.ZOrderErrors

/** Refuses tables for reasons that show only in their partitions and files, after the listing. */
object FileChecks {

  /** Refuses a Hive-format table if one of its partitions has another format. */
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
   * Refuses symbolic links among the files that will be replaced. Hadoop follows them silently: renaming
   * a file below a linked folder would change another directory. Only local disks have such links.
   */
  def checkLinks(target: Target, files: TableFiles): Unit =
    firstLink(files).foreach { link =>
      throw ZOrderErrors.symbolicLink(target.name, link.toString)
    }

  /**
   * Refuses two mistakes that only the names of the listed files show: a format other than the one
   * that the statement names, and a bucketed table that is named by its path.
   */
  def checkFiles(target: Target, files: TableFiles): Unit = {
    // a path does not tell its format
    DataFormat.all.filter(_ != target.format).foreach { other =>
      if (files.files.nonEmpty && files.files.forall(_.path.getName.endsWith("." + other.name))) {
        TargetChecks.refuse(
          target,
          s"a directory of ${other.title} files",
          s"Name it as ${other.name}.`${target.location}`.")
      }
    }
    // Hive names the files of its own tables by tasks, which looks like buckets; the catalog knows
    // the real ones
    val isHive = target match {
      case t: CatalogTarget => t.isHiveFormat
      case _ => false
    }
    // a file of a run that is not published yet has a number of its own
    val names = files.files.map(_.path.getName).filterNot(_.startsWith("_"))
    val bucketed = names.forall(BucketingUtils.getBucketId(_).isDefined)
    if (names.nonEmpty && bucketed && !isHive) {
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
      val root = local(files.root)
      val folders = files.folders.map(f => local(f.path)).flatMap { folder =>
        Iterator.iterate(folder)(_.getParent).takeWhile(f => f != null && f != root)
      }.distinct
      (folders.iterator ++ files.files.iterator.map(f => local(f.path)))
        .find(Files.isSymbolicLink(_))
    }

  private def local(path: Path): LocalPath = Paths.get(path.toUri.getPath)
}
