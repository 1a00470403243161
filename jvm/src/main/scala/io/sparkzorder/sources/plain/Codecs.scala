package io.sparkzorder.sources.plain

import org.apache.hadoop.conf.Configuration

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.table.stats.ScannedFile
import io.sparkzorder.write.OutputSpec

/**
 * The codecs of the files that a run reads and writes.
 *
 * @param files that are rewritten
 */
private[plain] final class Codecs(inputs: PlainInputs, files: Seq[ScannedFile]) {

  /**
   * Refuses codecs without their library before anything is written: the tasks would fail.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_CODEC_NOT_AVAILABLE, naming a file
   */
  def check(spec: OutputSpec, conf: Configuration): Unit = if (files.nonEmpty) {
    val first = firstOfEach(files) ++ firstOfEach(inputs.files).filter(_._1 == spec.codec)
    for {
      (codec, file) <- first
      problem <- inputs.target.format.missing(codec, conf)
    } throw ZOrderErrors.codecNotAvailable(file.file.path.toString, codec, problem)
  }

  /** Which files get another codec; None if all keep theirs. */
  def change(spec: OutputSpec): Option[String] = {
    val others = firstOfEach(files).filter(_._1 != spec.codec)
    if (others.isEmpty) None
    else {
      val named = others.map { case (codec, f) => s"$codec (such as in ${f.file.path.getName})" }
      Some(s"files of the codec ${named.mkString(" and ")} become ${spec.codec}")
    }
  }

  private def firstOfEach(of: Seq[ScannedFile]): Seq[(String, ScannedFile)] =
    of.flatMap(_.codecs).distinct.map(c => c -> of.find(_.codecs.contains(c)).get)
}
