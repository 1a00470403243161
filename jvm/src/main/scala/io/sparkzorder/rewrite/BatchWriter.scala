package io.sparkzorder.rewrite

import java.io.FileNotFoundException

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import org.apache.spark.internal.Logging

import io.sparkzorder.commands.Phases
import io.sparkzorder.conf.Settings
import io.sparkzorder.errors.{ZOrderErrors, ZOrderException}
import io.sparkzorder.table.DataFile
import io.sparkzorder.table.schema.TableSchema
import io.sparkzorder.table.stats.{FooterReader, ScannedFile}
import io.sparkzorder.write.{FilePlaces, FileWriter, OutputSpec, Verification, WrittenFile}

/** A new file, as its task reported it and as its own footer describes it. */
private[rewrite] final case class OutputFile(written: WrittenFile, footer: ScannedFile)

/** The new files of a batch, sorted by their file numbers. */
private[rewrite] final case class BatchOutput(files: IndexedSeq[OutputFile], shuffleBytes: Long) {
  def footers: IndexedSeq[ScannedFile] = files.map(_.footer)
}

/** Writes the files of a batch, in place or for INTO, and verifies them against their inputs. */
private[rewrite] final class BatchWriter(
    val inputs: RewriteInputs,
    spec: OutputSpec,
    phases: Phases,
    conf: Configuration)
    extends Logging {
  private val sameName = inputs.session.sessionState.conf.resolver

  /** @param places where the files go */
  def write(plan: BatchPlan, places: FilePlaces): BatchOutput = {
    val frame = plan.frame(spec)
    val result = phases("write") {
      FileWriter.write(inputs.session, frame, inputs.schema.length, spec, places)
    }
    phases("verify") {
      val output = BatchOutput(read(plan, result.files), result.shuffleBytes)
      val unchecked = verify(plan, output)
      if (unchecked > 0) logInfo(s"$unchecked column bounds had no numbers to verify")
      if (inputs.settings(Settings.Verify) == "full") {
        new RowChecksum(inputs).check(plan.inputs.listed, output.footers)
      }
      output
    }
  }

  /**
   * Reads the footers of the inputs once more, since all columns of all files of the table would not
   * fit into memory.
   */
  private def verify(plan: BatchPlan, output: BatchOutput): Int =
    try {
      val before = FooterReader.inParts(plan.inputs.files.map(_.file), conf, inputs.target.format)
      new Verification(inputs.target.name, sameName).checkAll(before, output.footers, hasDefault)
    } catch {
      case e: ZOrderException =>
        // the input that differs is not the one that was rewritten
        val changed = plan.inputs.files.find(f => !isSame(f.file))
        throw changed.fold(e)(f =>
          ZOrderErrors.conflict(inputs.target.name, s"${f.file.path} was removed or overwritten"))
    }

  private def isSame(file: DataFile): Boolean =
    try {
      val now = file.path.getFileSystem(conf).getFileStatus(file.path)
      now.getLen == file.length && now.getModificationTime == file.modified
    } catch { case _: FileNotFoundException => false }

  private def read(plan: BatchPlan, files: Seq[WrittenFile]): IndexedSeq[OutputFile] = {
    val sorted = files.sortBy(_.file)
    val listed = sorted.map { f =>
      val path = new Path(f.path)
      DataFile(plan.outputs(f.file), path.getFileSystem(conf).getFileStatus(path))
    }
    val footers = FooterReader.read(listed, conf, inputs.target.format)
    sorted.zip(footers).map { case (w, f) => OutputFile(w, f) }
      // Spark's writer makes an empty file where the first partition has no row
      .filter(_.footer.rows > 0).toIndexedSeq
  }

  private def hasDefault(column: String): Boolean = inputs.schema.exists { f =>
    sameName(f.name, column) && TableSchema.hasDefault(f)
  }
}
