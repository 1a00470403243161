package io.sparkzorder.commands

import scala.collection.mutable.ArrayBuffer

import io.sparkzorder.conf.Settings
import io.sparkzorder.errors.ZOrderErrors

/**
 * Puts whole folders into batches of up to `batchSize` bytes. Each batch is rewritten and committed by
 * itself.
 *
 * @param target name of the table, for messages
 * @param options OPTIONS of the statement; with a batch size there, a folder may be larger
 */
private[sparkzorder] final class FolderBatches(
    target: String,
    settings: Settings,
    options: Map[String, String]) {
  private val limit = settings(Settings.BatchSize)
  private val isAsked = options.keys.exists(_.equalsIgnoreCase(Settings.BatchSize.key))

  /**
   * The folders in groups, in their order.
   *
   * @param limited true if a folder above the size is an error, unless OPTIONS have a batch size
   * @param name of a folder, for messages
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_PARTITION_TOO_LARGE
   */
  def of[F](folders: Seq[F], limited: Boolean = true)(
      name: F => String,
      bytes: F => Long): Seq[Seq[F]] = {
    val groups = ArrayBuffer(ArrayBuffer.empty[F])
    var sum = 0L
    folders.foreach { folder =>
      val size = bytes(folder)
      if (size > limit && limited && !isAsked) {
        throw ZOrderErrors.partitionTooLarge(target, name(folder), size, limit)
      }
      if (groups.last.nonEmpty && sum + size > limit) {
        groups += ArrayBuffer.empty
        sum = 0L
      }
      groups.last += folder
      sum += size
    }
    groups.toSeq.filter(_.nonEmpty).map(_.toSeq)
  }
}
