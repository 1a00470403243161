// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.plain

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.hadoop.fs.Path

import org.apache.spark.internal.Logging
import org.apache.spark.sql.Column
import org.apache.spark.sql.catalyst.util.QuotingUtils.quoteIdentifier
import org.apache.spark.sql.functions.{coalesce, col, count, lit, sum, xxhash64}
import org.apache.spark.sql.sparkzorder.SparkLine.{Frame, Session}
import org.apache.spark.sql.types._

import io.sparkzorder.cluster.{InputFrame, ShuffleLayout}
import io.sparkzorder.commands.Phases
import io.sparkzorder.conf.Settings
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.sources._
import io.sparkzorder.table.{DataFile, Folder, TableFiles}
import io.sparkzorder.table.schema.TableSchema
import io.sparkzorder.table.stats.{FooterReader, ScannedFile}
import io.sparkzorder.util.ManyFiles
import io.sparkzorder.write.{FilePlaces, FileWriter, OutputSpec, Verification, WrittenFile}

/** A new file, as its task reported it and as its own footer describes it. */
private[plain] final case class OutputFile(written: WrittenFile, footer: ScannedFile)

/** The new files of a batch, sorted by their file numbers. */
private[plain] final case class BatchOutput(files: IndexedSeq[OutputFile], shuffleBytes: Long) {
  def footers: IndexedSeq[ScannedFile] = files.map(_.footer)
}

/** The rows of some files of a plain table. */
private[plain] final class PlainRows(
    snapshot: PlainSnapshot,
    session: Session,
    override val files: IndexedSeq[PlainFile],
    committer: PlainCommitter)
    extends FormatRows
    with Logging {
  val inputs: PlainInputs = snapshot.inputs
  private val conf = snapshot.conf
  private val sameName = session.sessionState.conf.resolver

  override val folders: IndexedSeq[PlainFolder] = files.map(_.folder).distinct
  override def schema: StructType = inputs.schema

  /** The listing of the table, reduced to these files and their folders. */
  val listed: TableFiles =
    inputs.listed.copy(folders = folders.map(_.folder), files = files.map(_.scanned.file))

  private val input = new InputFrame(session, listed, schema, inputs.target.format)
  override def frame: Frame = input.frame
  override def folderColumn: String = input.folderColumn
  override def rowHash: Column = input.rowHash

  override def replace(plan: BatchPlan, layout: LayoutTag, phases: Phases)(
      guard: IndexedSeq[FormatFile] => Unit): Rewritten =
    committer.replace(this, plan, layout, phases)(guard)

  override def close(): Unit = ()

  /** The folder of each new file, by its number. */
  def outputs(plan: BatchPlan): IndexedSeq[Folder] = {
    val own = folders.map(f => (f: FormatFolder) -> f.folder).toMap
    plan.outputs.map(own)
  }

  /** New files as files of the table. */
  def added(footers: IndexedSeq[ScannedFile]): IndexedSeq[PlainFile] = {
    val own = folders.map(f => f.folder -> f).toMap
    footers.map(f => new PlainFile(f, own(f.file.folder), snapshot))
  }

  /**
   * Writes the new files and verifies them against their inputs.
   *
   * @param places where the files go
   */
  def write(plan: BatchPlan, places: FilePlaces, phases: Phases)(
      guard: IndexedSeq[FormatFile] => Unit): BatchOutput = {
    val spec = snapshot.output.get
    val result = phases("write") {
      FileWriter.write(session, laidOut(plan, spec), schema.length, spec, places)
    }
    phases("verify") {
      val output = BatchOutput(read(plan, result.files), result.shuffleBytes)
      verify(output)(guard)
      output
    }
  }

  /** Partition `i` holds the rows of file `i`. Columns after the data columns are not written. */
  private def laidOut(plan: BatchPlan, spec: OutputSpec): Frame = plan.grid match {
    case Some(grid) =>
      ShuffleLayout.withPlaces(session, input, schema, plan.columns, grid, spec.pagesOf)
    case None => ShuffleLayout.byFile(session, input, schema, plan.fileOf, plan.outputs.size)
  }

  /**
   * Refuses new files that lack rows or values of the inputs. Reads the footers of the inputs once more, because
   * the statistics of all columns of all files of the table would not fit into memory.
   */
  private def verify(output: BatchOutput)(guard: IndexedSeq[FormatFile] => Unit): Unit =
    try {
      val before = FooterReader.inParts(listed.files, conf, inputs.target.format)
      val unchecked = new Verification(inputs.target.name, sameName)
        .checkAll(before, output.footers, hasDefault)
      if (unchecked > 0) logInfo(s"$unchecked column bounds could not be compared")
      guard(added(output.footers))
      if (inputs.settings(Settings.Verify) == "full") {
        new RowChecksum(inputs).check(listed, output.footers)
      }
    } catch {
      case NonFatal(e) =>
        // a change of an input since it was listed explains the failure, and is a conflict
        throw Try(changedInput).toOption.flatten.fold(e)(f =>
          ZOrderErrors.conflict(inputs.target.name, s"${f.path} was removed or overwritten"))
    }

  /**
   * An input that was changed or removed since it was listed; None also if the files cannot be listed
   * again.
   */
  def changedInput: Option[DataFile] = snapshot.changedOf(listed.files)

  private def read(plan: BatchPlan, files: Seq[WrittenFile]): IndexedSeq[OutputFile] = {
    val sorted = files.sortBy(_.file)
    val folderOf = outputs(plan)
    val listed = ManyFiles.map(sorted) { f =>
      val path = new Path(f.path)
      DataFile(folderOf(f.file), path.getFileSystem(conf).getFileStatus(path))
    }
    val footers = FooterReader.read(listed, conf, inputs.target.format)
    sorted.zip(footers).map { case (w, f) => OutputFile(w, f) }
      // Spark's writer makes an empty file where the first partition has no row
      .filter(_.footer.rows > 0).toIndexedSeq
  }

  private def hasDefault(column: String): Boolean = schema.exists { f =>
    sameName(f.name, column) && TableSchema.hasDefault(f)
  }
}

/**
 * The check of `verify=full`: compares the rows of the inputs with the rows of the written files,
 * folder by folder. All columns of a row are hashed twice, each time to 64 bits. The two sums of
 * these hashes do not depend on the order of the rows. Inputs and written files are both read once
 * more for this.
 */
private[plain] final class RowChecksum(p: PlainInputs) {

  /** @throws io.sparkzorder.errors.ZOrderException ZORDER_VERIFICATION_FAILED */
  def check(inputs: TableFiles, written: Seq[ScannedFile]): Unit = {
    val output = inputs.copy(files = written.map(_.file).toIndexedSeq)
    val before = sums(inputs)
    val after = sums(output)
    if (before != after) {
      throw ZOrderErrors.verificationFailed(
        p.target.name,
        s"the checksums by folder were $before and are $after")
    }
  }

  private def sums(files: TableFiles): Map[Int, Seq[Any]] = {
    val input = new InputFrame(p.session, files, p.schema, p.target.format)
    val columns = p.schema.fields.toSeq.filter(f => hashable(f.dataType)).flatMap(hashed)
    val frame: Frame = input.frame
    frame
      .groupBy(col(quoteIdentifier(input.folderColumn)))
      // the two hashes begin with different numbers, so that rows that agree in one hash may differ in the other
      .agg(count(lit(1)), total(lit(1) +: columns), total(lit(2) +: columns))
      .collect()
      .map(r => r.getInt(0) -> r.toSeq.tail)
      .toMap
  }

  /**
   * The hashed expressions of a column. Spark's hash skips NULLs, so the rows (NULL, 1) and (1, NULL) would have the
   * same hash. Therefore `IS NULL` of the column is hashed as well. Of an array, a map or a struct, Spark hashes only
   * the values inside, so [NULL, 1] and [1, NULL] would have the same hash. The text of such a column is therefore
   * hashed instead of `IS NULL`, because the text shows the position of each value.
   */
  private def hashed(field: StructField): Seq[Column] = {
    val column = col(quoteIdentifier(field.name))
    field.dataType match {
      case _: StructType | _: ArrayType | _: MapType => Seq(column, column.cast(StringType))
      case _ => Seq(column, column.isNull)
    }
  }

  // the sum is a DECIMAL(30,0), which the hashes of 10^11 rows cannot overflow
  private def total(values: Seq[Column]): Column =
    coalesce(sum(xxhash64(values: _*).cast(DecimalType(20, 0))), lit(0))

  private def hashable(t: DataType): Boolean = t match {
    case s: StructType => s.forall(f => hashable(f.dataType))
    case a: ArrayType => hashable(a.elementType)
    case m: MapType => hashable(m.keyType) && hashable(m.valueType)
    case other => other.typeName != "variant"
  }
}
