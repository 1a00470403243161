package io.sparkzorder.commands.optimize

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import org.apache.spark.internal.Logging

import io.sparkzorder.commands.Phases
import io.sparkzorder.conf.Settings
import io.sparkzorder.table.DataFile
import io.sparkzorder.table.schema.TableSchema
import io.sparkzorder.table.stats.{FooterReader, ScannedFile}
import io.sparkzorder.write.{FilePlaces, FileWriter, OutputSpec, Verification, WrittenFile}

/** A new file, as its task reported it and as its own footer describes it. */
private[optimize] final case class OutputFile(written: WrittenFile, footer: ScannedFile)

/** The new files of a batch, sorted by their file numbers. */
private[optimize] final case class BatchOutput(files: IndexedSeq[OutputFile], shuffleBytes: Long) {
  def footers: IndexedSeq[ScannedFile] = files.map(_.footer)
}

/** Writes the files of a batch, in place or for INTO, and verifies them against their inputs. */
private[optimize] final class BatchWriter(
    val inputs: RewriteInputs,
    spec: OutputSpec,
    phases: Phases,
    conf: Configuration)
    extends Logging {
  private val sameName = inputs.session.sessionState.conf.resolver

  /** @param places where the files go */
  def write(plan: BatchPlan, places: FilePlaces): BatchOutput = {
    val frame = plan.frame()
    val result = phases("write")(FileWriter.write(inputs.session, frame, spec, places))
    phases("verify") {
      val output = BatchOutput(read(plan, result.files), result.shuffleBytes)
      val unchecked = new Verification(inputs.target.name, sameName)
        .check(plan.inputs.files, output.footers, hasDefault)
      if (unchecked > 0) logInfo(s"$unchecked column bounds had no numbers to verify")
      if (inputs.settings(Settings.Verify) == "full") {
        new RowChecksum(inputs).check(plan.inputs.listed, output.footers)
      }
      output
    }
  }

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
