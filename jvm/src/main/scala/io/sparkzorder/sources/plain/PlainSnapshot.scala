// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.plain

import scala.collection.JavaConverters._
import scala.util.Try

import org.apache.commons.io.FileUtils.byteCountToDisplaySize
import org.apache.hadoop.conf.Configuration
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName.INT96

import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types._

import io.sparkzorder.commands.{TableState, WhereClause}
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.log.{Record, RunCost, Shadows, TableLog}
import io.sparkzorder.sources._
import io.sparkzorder.table.{
  DataFile,
  Folder,
  OrcFiles,
  OrderingColumn,
  ParquetFiles,
  TableFiles,
  TableLister
}
import io.sparkzorder.table.stats.{FileRange, ScannedFile}
import io.sparkzorder.util.{ColumnLookup, Paths}
import io.sparkzorder.write.{OutputSpec, ParquetSpec}

/**
 * The files of a plain table, as their footers describe them.
 *
 * @param where the clause that chooses files
 */
private[plain] final class PlainSnapshot(
    table: TableState,
    val inputs: PlainInputs,
    where: Option[WhereClause],
    committer: PlainCommitter,
    statement: Statement)
    extends TableSnapshot {
  import inputs.{listed, target}

  def conf: Configuration = table.conf

  /**
   * How new files are written; None if there is no input file. Lazy, because AUTO also makes a snapshot to sample the
   * table, and writes no file by it.
   *
   * @throws io.sparkzorder.errors.ZOrderException for types that cannot be written back as they are,
   *   and for ordering columns of which the new files would not have bounds
   */
  lazy val output: Option[OutputSpec] =
    if (inputs.files.isEmpty) None
    else {
      val spec = new OutputPlanner(inputs).plan()
      checkBounds(spec)
      Some(spec)
    }

  private lazy val log = TableLog.read(table.state)
  private lazy val records: Seq[(Long, Record)] = log.all
  private lazy val history = new RunsOfFiles(listed, records, log.shadows)

  override val columns: Seq[OrderingColumn] = inputs.columns
  override def layoutKey: String = PlainFile.keyOf(columns.map(_.name))

  override val files: IndexedSeq[PlainFile] = {
    val folders = listed.folders.map(f => f -> new PlainFolder(f)).toMap
    inputs.files.map(f => new PlainFile(f, folders(f.file.folder), this))
  }

  private lazy val matching: Option[IndexedSeq[PlainFile]] =
    where.flatMap(FilesOfWhere.choose(inputs, _))
      .map(paths => files.filter(f => paths(f.scanned.file.path)))

  override def chosen: Option[IndexedSeq[FormatFile]] = matching

  override def isPartitioned: Boolean = listed.partitionSchema.nonEmpty

  override def plans: Option[RegionPlans] =
    if (committer.allowsTwoPasses) Some(new PlansOfTable(table, inputs)) else None

  override def leftOut: Seq[String] = listed.outside.map(o =>
    s"partition ${o.spec} was left out: it lies outside the table at ${o.location}")

  override def check(batches: Seq[IndexedSeq[FormatFile]], room: Long): Unit = {
    val files = batches.flatten.map(PlainFile.of(_).scanned)
    output.foreach(new Codecs(inputs, files).check(_, conf))
    if (target.format == ParquetFiles) new NullKeys(inputs.session, conf).check(files)
    if (!statement.clauses.dryRun) committer.checkRoom(files, room)
  }

  override def rows(session: Session, files: IndexedSeq[FormatFile]): PlainRows =
    new PlainRows(this, session, files.map(PlainFile.of), committer)

  override def free(): Unit = committer.free(statement.phases)

  override def finish(done: Seq[Rewritten], statement: Statement): Unit = {
    val added = done.flatMap(_.files).map(PlainFile.of(_).scanned)
    committer.finish(inputs, added, statement.phases)
  }

  override def changes(plans: Seq[BatchPlan], rewritten: Seq[FormatFile]): Seq[String] = {
    val files = rewritten.map(PlainFile.of(_).scanned)
    (if (plans.isEmpty) Nil else committer.remarks) ++
      output.flatMap(new Codecs(inputs, files).change(_)).toSeq ++
      new ValuesOfOthers(inputs, files, output).changes ++
      output.toSeq.collect { case p: ParquetSpec =>
        new ChangedTypes(p.schema, files).changes
      }.flatten ++
      (if (plans.isEmpty) Nil else output.toSeq.flatMap(_.lost))
  }

  override def effort(plans: Seq[BatchPlan]): Effort =
    new PredictedEffort(inputs, plans, records.map(_._2)).result

  override def changed(files: Seq[FormatFile]): Option[String] =
    changedOf(files.map(PlainFile.of(_).scanned.file)).map(_.path.toString)

  private[plain] def changedOf(files: Seq[DataFile]): Option[DataFile] =
    Try {
      val now = new TableLister(table.user, target).lookAgain(files)
      files.find(f => !now.get(f.path).exists(f.isUnchanged))
    }.toOption.flatten

  /** Bounds, bytes and values of the ordering columns of a file. */
  private[plain] def infos(file: ScannedFile): IndexedSeq[FileColumnInfo] = columns.map { c =>
    val sameName = inputs.session.sessionState.conf.resolver
    val range = FileRange.ofFooter(c, file, sameName)
    ColumnLookup.position(file.schema, c.parts, sameName).map(file.leaves(_)) match {
      case Some(leaf) =>
        FileColumnInfo(range, leaf.bytes, file.rows - math.max(0L, leaf.nulls))
      case None => FileColumnInfo(range, 0L, 0L)
    }
  }.toIndexedSeq

  private[plain] def runOf(file: DataFile): Option[MadeFile] = history.runOf(file)

  /**
   * Refuses ordering columns that have no min/max in the written files: columns that stay INT96 in
   * Parquet, and BINARY and TIME columns in ORC.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_COLUMN_NOT_ORDERABLE
   */
  private def checkBounds(spec: OutputSpec): Unit = spec match {
    case parquet: ParquetSpec => inputs.columns.foreach(checkInt96(parquet, _))
    case _ => inputs.columns.foreach(checkOrc)
  }

  private def checkInt96(spec: ParquetSpec, c: OrderingColumn): Unit = {
    val written = spec.schema.getColumns.asScala.find(_.getPath.toSeq == c.parts)
    if (written.exists(_.getPrimitiveType.getPrimitiveTypeName == INT96)) {
      throw ZOrderErrors.columnNotOrderable(
        c.name,
        target.name,
        "TIMESTAMP as INT96",
        "files have no min/max of it; set timestampType to micros")
    }
  }

  private def checkOrc(c: OrderingColumn): Unit =
    if (c.dataType == BinaryType || c.dataType.typeName.startsWith("time(")) {
      throw ZOrderErrors.columnNotOrderable(
        c.name,
        target.name,
        c.dataType.sql,
        s"${OrcFiles.title} files have no min/max of it")
    }
}

/** The plans of a plain table, which also has a stored grid for later writes. */
private[plain] final class PlansOfTable(table: TableState, inputs: PlainInputs)
    extends RegionPlans(table.root, table.conf, inputs.columns, inputs.columns.map(_.name)) {

  /** Also updates the stored grid, because a later batch of the plan knows only the rows of its region. */
  override def write(plan: RegionPlan): Unit = {
    super.write(plan)
    inputs.updateGrid(table) {
      val folder = plan.folder match {
        case plain: PlainFolder => plain.folder
        case other => throw new IllegalArgumentException(s"$other is a folder of another table")
      }
      (Seq(inputs.sampled(folder, plan.sample, plan.rows, plan.files)), None)
    }
  }
}

private[plain] final class PlainFolder(val folder: Folder)
    extends FormatFolder(folder.path.toString, 0)

/** A data file as its footer describes it. */
private[plain] final class PlainFile(
    val scanned: ScannedFile,
    override val folder: PlainFolder,
    snapshot: PlainSnapshot)
    extends FormatFile {
  override def path: String = scanned.file.path.toString
  override def bytes: Long = scanned.file.length
  override def writtenAt: Long = scanned.file.modified
  override def records: Long = scanned.rows
  override lazy val columns: IndexedSeq[FileColumnInfo] = snapshot.infos(scanned)

  private lazy val run = snapshot.runOf(scanned.file)

  override def commit: Option[Long] =
    run.map(_.number).orElse(PlainFile.jobOf(scanned.file.path.getName))

  override def dealt: Option[DealtTo] =
    for {
      made <- run
      if made.record.level == Record.Dealt
      plan <- made.record.planId
    } yield DealtTo(plan, made.region)

  override def finishedPlan: Option[String] =
    run.filter(_.record.level == Record.Final).flatMap(_.record.planId)

  override def layout: Option[LayoutTag] = run.map { made =>
    val r = made.record
    LayoutTag(
      r.columns.mkString(", "),
      PlainFile.keyOf(r.columns),
      r.targetFileSize,
      r.columnWeights,
      r.run,
      r.layoutSinceMs)
  }
}

private[plain] object PlainFile {
  // the name that Spark's writer gives to a file: part-00000-<job>-c000.snappy.parquet
  private val SparksName =
    s"part-\\d+-(${Paths.Uuid})[-_.].*".r

  def of(file: FormatFile): PlainFile = file match {
    case plain: PlainFile => plain
    case other => throw new IllegalArgumentException(s"${other.path} is a file of another table")
  }

  /** A number that stands for the Spark job that wrote a file; None if the file name has no id of a job. */
  def jobOf(name: String): Option[Long] = name match {
    // negative, and so less than the number of any record
    case SparksName(job) =>
      Some(java.util.UUID.fromString(job).getMostSignificantBits | Long.MinValue)
    case _ => None
  }

  def keyOf(columns: Seq[String]): String = columns.mkString("\n")
}

/**
 * A file that a run of OPTIMIZE has made.
 *
 * @param number the number of the run's record
 * @param region the region in the record's plan; 0 without a plan
 */
private[plain] final case class MadeFile(number: Long, record: Record, length: Long, region: Int)

/**
 * Finds the run of OPTIMIZE that has made a file. The file must have the name and the length that the run recorded.
 * The name contains the run's id.
 *
 * @param records the records of the table, with their numbers
 */
private final class RunsOfFiles(
    listed: TableFiles,
    records: Seq[(Long, Record)],
    shadows: Shadows) {
  private val folderNames: Map[Folder, String] =
    listed.folders.map(f => f -> Paths.relative(listed.root, f.path)).toMap

  // Of two records with one file, the earlier counts: that of the shadow. PUBLISH LAYOUT has only moved the file, and
  // its record has room for one layout and one plan, although it may publish several shadows.
  private val made: Map[(String, String), MadeFile] =
    (for {
      (number, record) <- records
      if record.kind == Record.Optimize
      change <- record.changes
      file <- change.added
    } yield (change.folder, file.name) -> MadeFile(
      number,
      record,
      file.length,
      file.region)).reverse.toMap

  def runOf(file: DataFile): Option[MadeFile] = {
    val folder = folderNames(file.folder)
    made.get((folder, shadows.nameOf(folder, file.path))).filter(_.length == file.length)
  }
}

/**
 * The effort that DRY RUN predicts for a run: files, tasks, shuffled bytes and space on disk. The
 * prediction includes seconds if the costs of an earlier run on the table are known.
 *
 * @param records the records of the table's runs, in ascending order
 */
private[plain] final class PredictedEffort(
    p: PlainInputs,
    plans: Seq[BatchPlan],
    records: Seq[Record]) {

  private val inputBytes = plans.map(_.bytes).sum
  private val files = plans.map(_.outputs.size).sum

  private val former: Option[RunCost] =
    records.reverseIterator.flatMap(_.cost).find(c => c.inputBytes > 0 && c.shuffleBytes > 0)

  def result: Effort = if (files == 0) Effort(0L, None) else Effort(shuffleBytes, Some(text))

  /** Bytes that the shuffles will write. */
  private def shuffleBytes: Long =
    former.fold(plans.map(_.rows.sum).sum * rowBytes * PredictedEffort.Compressed)(c =>
      c.shuffleBytes.toDouble / c.inputBytes * inputBytes).toLong

  private def text: String = {
    val seconds = former.map { c =>
      val s = c.millis.toDouble / c.inputBytes * inputBytes / 1000
      s"; about ${math.round(s)} seconds, by the speed of an earlier run"
    }
    s"a run writes $files files in as many tasks, shuffles about ${byteCountToDisplaySize(shuffleBytes)} and " +
      s"needs about ${byteCountToDisplaySize(inputBytes)} of free space for each replica while old and new files are kept" +
      seconds.getOrElse("")
  }

  /**
   * Bytes of a row in Spark's shuffle format before compression: 8 for each value, the null bits,
   * and the bytes of values that do not fit into 8 bytes.
   */
  private def rowBytes: Double = {
    val rows = math.max(1L, p.rows)
    val strings = p.schema.fields.exists(f => !PredictedEffort.isFixed(f.dataType))
    val beside = if (strings) p.files.map(_.uncompressed).sum.toDouble / rows else 0.0
    8.0 * (p.schema.length + 2 + p.schema.length / 64) + beside
  }
}

private object PredictedEffort {
  // the share of a shuffled row's bytes that is left after compression by Spark's codec, measured
  // on the table store_sales of TPC-DS: 296 of 530 MB
  private val Compressed = 0.55

  private def isFixed(t: DataType): Boolean = t match {
    case d: DecimalType => d.precision <= Decimal.MAX_LONG_DIGITS
    case _: NumericType | BooleanType | DateType | TimestampType | TimestampNTZType => true
    case _ => false
  }
}
