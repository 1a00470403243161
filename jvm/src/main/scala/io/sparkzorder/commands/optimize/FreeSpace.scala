package io.sparkzorder.commands.optimize

import org.apache.commons.io.FileUtils.byteCountToDisplaySize
import org.apache.hadoop.fs.{FileSystem, Path}

import io.sparkzorder.errors.ZOrderErrors

/**
 * Asks the file system for the room that a run needs, before anything is written: replaced files are
 * kept for a while, so old and new ones are there at once. New files are about as large as the old.
 */
private[sparkzorder] object FreeSpace {

  /**
   * @param place file system and directory that will be written to
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_NOT_ENOUGH_SPACE
   */
  def check(target: String, place: (FileSystem, Path), batches: Seq[Batch]): Unit = {
    val needed = batches.flatMap(_.files.files.map(_.length)).sum
    val (fs, directory) = place
    val there = Iterator.iterate(directory)(_.getParent).takeWhile(_ != null).find(fs.exists(_))
    // a store without a limit reports the largest number; one that knows none reports 0 of 0
    there.map(fs.getStatus(_)).filter(s => s.getCapacity > 0 && s.getRemaining < needed).foreach {
      s =>
        throw ZOrderErrors.notEnoughSpace(
          target,
          directory.toString,
          byteCountToDisplaySize(needed),
          byteCountToDisplaySize(s.getRemaining))
    }
  }
}
