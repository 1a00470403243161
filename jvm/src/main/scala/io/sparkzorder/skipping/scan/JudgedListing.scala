package io.sparkzorder.skipping.scan

import org.apache.spark.sql.execution.datasources.PartitionDirectory

import io.sparkzorder.skipping.predicate.FileJudge

/**
 * A listing without the files in which no row can match. Partitions stay, also those without any file
 * left: Spark counts them.
 *
 * @param numbers None where no index had a say
 */
final case class JudgedListing(
    directories: Seq[PartitionDirectory],
    numbers: Option[SkippingNumbers])

object JudgedListing {

  /** @param judge None when every file is read */
  def of(listed: Seq[PartitionDirectory], judge: Option[FileJudge]): JudgedListing =
    judge match {
      case None => JudgedListing(listed, None)
      case Some(j) =>
        val (kept, numbers) = listed.map(narrowed(_, j)).unzip
        JudgedListing(kept, Some(SkippingNumbers(j.causes, numbers)))
    }

  private def narrowed(
      directory: PartitionDirectory,
      judge: FileJudge): (PartitionDirectory, DirectoryNumbers) = {
    val prunedBy = new Array[Int](judge.causes.size)
    var noEntry = 0
    val kept = directory.files.filter { f =>
      val verdict = judge.verdict(f.fileStatus)
      if (verdict >= 0) prunedBy(verdict) += 1
      else if (verdict == FileJudge.NoEntry) noEntry += 1
      verdict < 0
    }
    val numbers = DirectoryNumbers(
      directory.values,
      directory.files.size,
      prunedBy.toIndexedSeq,
      noEntry)
    (directory.copy(files = kept), numbers)
  }
}
