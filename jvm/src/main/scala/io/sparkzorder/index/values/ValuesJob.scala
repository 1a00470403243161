// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index.values

import java.io.FileNotFoundException
import java.nio.charset.StandardCharsets.UTF_8
import java.security.SecureRandom
import java.util.UUID

import scala.collection.mutable
import scala.util.Try

import org.apache.hadoop.fs.Path

import org.apache.spark.{Partitioner, TaskContext}
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.QuotingUtils.quoteIdentifier
import org.apache.spark.sql.functions.col
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types.{DataType, StructField, StructType}
import org.apache.spark.util.SerializableConfiguration

import io.sparkzorder.cluster.InputFrame
import io.sparkzorder.conf.PinnedSession
import io.sparkzorder.table.{DataFormat, TableFiles}
import io.sparkzorder.util.{Directories, ExclusiveFile, RawFiles}

/**
 * A column whose values are read.
 *
 * @param dataType the type by which Spark reads the values unchanged
 */
private[sparkzorder] final case class ColumnToRead(
    name: String,
    dataType: DataType,
    domain: ValueDomain)

/**
 * The numbers of rows and NULLs in a file, according to its entry in the index. The job covers a file only if
 * it reads the same numbers: a reader that left rows out would leave their values out of the index.
 *
 * @param path relative to the table's root
 * @param nulls the number of NULLs of each column; None if the job need not index the column in this file
 */
private[sparkzorder] final case class FileToCover(
    path: String,
    rows: Long,
    nulls: IndexedSeq[Option[Long]])

/**
 * Reads the values of some columns of some files in one Spark job, and writes a part for each column:
 * scan, hash, shuffle by the first bits of the hash, sort, write.
 *
 * @param directory the directory of the index, in which each part gets a directory
 */
private[sparkzorder] final class ValuesJob(
    user: Session,
    directory: Path,
    format: DataFormat,
    columns: IndexedSeq[ColumnToRead]) {
  import ValuesJob._

  private val conf = user.sessionState.newHadoopConf()
  private val fs = RawFiles.of(directory, conf)

  /**
   * Runs the job. Fails if a file cannot be read.
   *
   * @param listed the files to read, at most [[PostingsFormat.MaxFiles]], as they were just listed
   * @param files what the index says of each file, in the order of `listed`
   * @param unchanged called once after the job. Returns a test of a position in `listed`: true if the file at this
   *   position is still as it was listed
   * @return the parts, which are complete on disk. No index refers to them yet
   */
  def run(
      listed: TableFiles,
      files: IndexedSeq[FileToCover],
      unchanged: () => Int => Boolean): Seq[WrittenPart] = {
    val random = new SecureRandom
    val wanted = columns.indices.map(c => files.indices.filter(files(_).nulls(c).isDefined))
    val formats = wanted.map(of => PostingsFormat.of(of.size, of.map(files(_).rows).sum))
    val firsts = formats.scanLeft(0)(_ + _.shards)
    val drafts = columns.indices.map { c =>
      val numbers = Array.fill(files.size)(-1)
      wanted(c).zipWithIndex.foreach { case (file, number) => numbers(file) = number }
      val (of, format) = (columns(c), formats(c))
      Draft(
        UUID.randomUUID(),
        random.nextLong(),
        of.domain,
        of.dataType,
        format,
        firsts(c),
        numbers)
    }
    val paths = drafts.map(d => new Path(directory, ValuesPart.nameOf(d.id)))
    try {
      // if the table was overwritten meanwhile, its directory must not be created again
      if (!fs.exists(directory.getParent))
        throw new FileNotFoundException(s"${directory.getParent}")
      paths.foreach { p =>
        fs.mkdirs(p)
        Directories.giveToOwnerOf(fs, directory.getParent, p)
      }
      val results = runJob(listed, files, drafts)
      val counts = results.flatMap(_.counts).head
      val shards = results.flatMap(_.shard).toMap
      val stays = unchanged()
      columns.indices.map { c =>
        val covered = wanted(c).map { i =>
          val f = files(i)
          f.nulls(c).contains(f.rows - counts.values(c)(i)) &&
          counts.rows(i) == f.rows && stays(i)
        }
        val part = ValuesPart(
          drafts(c).id,
          columns(c).name,
          columns(c).domain.text,
          drafts(c).seed,
          formats(c),
          (0 until formats(c).shards).map(i => shards(firsts(c) + i)),
          CoveredFiles(
            wanted(c).map(files(_).path.getBytes(UTF_8)),
            wanted(c).map(listed.files(_).length).toArray,
            wanted(c).map(listed.files(_).modified).toArray,
            covered.toArray))
        written(paths(c), part)
      }
    } catch {
      case t: Throwable =>
        paths.foreach(p => Try(fs.delete(p, true)))
        throw t
    }
  }

  private def runJob(
      listed: TableFiles,
      files: IndexedSeq[FileToCover],
      drafts: IndexedSeq[Draft]): Array[TaskResult] = {
    val session = PinnedSession.of(user)
    // columns are found in files regardless of the case of their names
    session.conf.set(SQLConf.CASE_SENSITIVE.key, "false")
    val sc = session.sparkContext
    val (home, count) = (directory.toString, files.size)
    val shared = sc.broadcast((new SerializableConfiguration(conf), drafts))
    try {
      // each file is read once, for all columns whose values are wanted of this file
      val hashed = files.indices.groupBy(i => files(i).nulls.map(_.isDefined)).toSeq.collect {
        case (which, members) if which.contains(true) =>
          val read = columns.indices.filter(which).toArray
          val numbers = members.toArray
          hashedRows(
            rowsOf(session, listed.copy(files = members.map(listed.files)), read),
            read,
            numbers,
            home,
            shared)
      }
      val shards = drafts.map(_.format.shards).sum
      sc.union(hashed)
        .partitionBy(new ByNumber(shards + 1))
        .mapPartitionsWithIndex { (number, chunks) =>
          val (settings, all) = shared.value
          Iterator.single(
            if (number == shards) Counted.of(chunks.map(_._2), all.size, count)
            else shardOf(number, chunks.map(_._2), home, all, settings))
        }
        .collect()
    } finally shared.destroy()
  }

  /** The values of some columns, and the position of their file in the listing. */
  private def rowsOf(session: Session, listed: TableFiles, read: Array[Int]): RDD[InternalRow] = {
    val schema = StructType(read.map(columns(_)).map(c => StructField(c.name, c.dataType)))
    val tasks = math.max(
      3L * session.sparkContext.defaultParallelism,
      math.max(listed.files.size / FilesOfTask, listed.files.map(_.length).sum / BytesOfTask))
    session.conf.set(SQLConf.FILES_MAX_PARTITION_NUM.key, tasks)
    val reader = Some(FewSettings.reader(format))
    val input = new InputFrame(session, listed, schema, format, reader, FailOnUnreadable)
    val names = schema.fieldNames.toSeq :+ input.fileColumn
    input.frame.select(names.map(n => col(quoteIdentifier(n))): _*).queryExecution.toRdd
  }

  private def written(path: Path, part: ValuesPart): WrittenPart = {
    val bytes = part.toBytes
    ExclusiveFile.write(fs, new Path(path, ValuesPart.Head), bytes)
    // If Spark has run a task several times, each attempt has written a file. The shard names one of these
    // files, and the others are deleted.
    val named = part.shards.map(_.name).toSet + ValuesPart.Head
    Try(fs.listStatus(path).filterNot(s => named(s.getPath.getName)).foreach(s =>
      fs.delete(s.getPath, false)))
    WrittenPart(part, bytes.length)
  }
}

/** @param headBytes the length of the head of the part */
private[sparkzorder] final case class WrittenPart(part: ValuesPart, headBytes: Int) {

  /** Paths of the files that the job read but that the part does not cover. */
  def missed: Seq[String] = part.files.paths.indices.filterNot(part.files.covered(_))
    .map(i => new String(part.files.paths(i), UTF_8))
}

private[sparkzorder] object ValuesJob {

  /**
   * A file that cannot be read must fail the job. If it were skipped, two attempts of a task could differ: the
   * first one counts all rows of the file, and a second one, which Spark makes for a lost shuffle file, skips the
   * file and sends fewer values. The file would then count as covered, although values of it are missing.
   */
  private val FailOnUnreadable =
    Map("ignoreCorruptFiles" -> "false", "ignoreMissingFiles" -> "false")

  private val FilesOfTask = 1024
  private val BytesOfTask = 256L << 20

  /**
   * A part that is being made.
   *
   * @param firstShard the number of the part's first shard among the shards of all parts
   * @param numbers for each file of the job, the number of the file in the part; -1 for a file that is not in
   *   the part
   */
  private[values] final case class Draft(
      id: UUID,
      seed: Long,
      domain: ValueDomain,
      dataType: DataType,
      format: PostingsFormat,
      firstShard: Int,
      numbers: Array[Int]) {
    def files: Int = numbers.count(_ >= 0)
  }

  // not a method of ValuesJob: a closure there would hold the ValuesJob, which cannot be serialized
  private def hashedRows(
      rows: RDD[InternalRow],
      read: Array[Int],
      files: Array[Int],
      home: String,
      shared: Broadcast[(SerializableConfiguration, IndexedSeq[Draft])])
      : RDD[(Int, Array[Long])] =
    rows.mapPartitions { rows =>
      val (settings, drafts) = shared.value
      // Creates the file system with all settings and thereby puts it into Hadoop's cache. The readers have few
      // settings, and take the file system from the cache ([[FewSettings]]).
      val _ = new Path(home).getFileSystem(settings.value)
      new HashedRows(rows, read, files, drafts)
    }

  /** Sends each chunk to the partition of its number. */
  private final class ByNumber(override val numPartitions: Int) extends Partitioner {
    override def getPartition(key: Any): Int = key.asInstanceOf[Int]
  }

  /** The result of a task: a shard with its number among the shards of all columns, or the counts. */
  private final case class TaskResult(shard: Option[(Int, ShardFile)], counts: Option[Counted])

  /** How many rows of each file were read, and how many of them have a value in each column. */
  private final case class Counted(rows: Array[Long], values: Array[Array[Long]])

  private object Counted {
    def of(chunks: Iterator[Array[Long]], columns: Int, files: Int): TaskResult = {
      val counted = Counted(new Array[Long](files), Array.fill(columns)(new Array[Long](files)))
      val width = columns + 2
      chunks.foreach { chunk =>
        (0 until chunk.length / width).foreach { i =>
          val file = chunk(i * width).toInt
          counted.rows(file) += chunk(i * width + 1)
          (0 until columns).foreach(c => counted.values(c)(file) += chunk(i * width + 2 + c))
        }
      }
      TaskResult(None, Some(counted))
    }
  }

  private def shardOf(
      number: Int,
      chunks: Iterator[Array[Long]],
      home: String,
      drafts: IndexedSeq[Draft],
      settings: SerializableConfiguration): TaskResult = {
    val packed = new mutable.ArrayBuilder.ofLong
    chunks.foreach(packed ++= _)
    val draft = drafts(drafts.lastIndexWhere(_.firstShard <= number))
    val shard = number - draft.firstShard
    val (bytes, file) =
      PostingsWriter.shard(draft.id, shard, draft.format, packed.result(), draft.files)
    val named =
      if (bytes.isEmpty) file
      else {
        // the name has the id of the attempt, because a late attempt must not touch the file of another attempt
        val name = s"_${shard}_${TaskContext.get().taskAttemptId()}"
        val path = new Path(new Path(home, ValuesPart.nameOf(draft.id)), name)
        ExclusiveFile.write(RawFiles.of(path, settings.value), path, bytes)
        file.copy(name = name)
      }
    TaskResult(Some(number -> named), None)
  }

  /**
   * Turns the rows of a task into chunks, each with the number of the partition that gets the chunk. With n
   * shards, the chunks 0 to n - 1 hold packed pairs of a hash and a file, for the shard of that number. The last
   * chunk has the number n, and holds the counts of rows and values.
   *
   * @param read the columns of the rows, by their positions among all drafts
   * @param files the files of the rows, by their positions among all files of the job
   */
  private final class HashedRows(
      rows: Iterator[InternalRow],
      read: Array[Int],
      files: Array[Int],
      drafts: IndexedSeq[Draft])
      extends Iterator[(Int, Array[Long])] {
    private val width = read.length
    private val targets = read.map(drafts)
    private val formats = targets.map(_.format)
    private val firsts = targets.map(_.firstShard)
    private val hashers =
      targets.zipWithIndex.map { case (d, i) => d.domain.hasher(i, d.dataType, d.seed) }
    private val chunks =
      Array.fill(drafts.map(_.format.shards).sum)(new mutable.ArrayBuilder.ofLong)
    private val counts = mutable.HashMap.empty[Int, Array[Long]]
    private var out: Iterator[(Int, Array[Long])] = Iterator.empty
    private var isOver = false

    // A small table for each column, so that a pair that was sent recently is not sent again. The lowest bits of
    // a hash choose its slot, which has the hash and the file of the last pair.
    private val recentHash = Array.fill(width)(new Array[Long](Recent))
    private val recentFile = Array.fill(width)(Array.fill(Recent)(-1))

    override def hasNext: Boolean = {
      while (!out.hasNext && !isOver) fill()
      out.hasNext
    }

    override def next(): (Int, Array[Long]) = out.next()

    private def fill(): Unit = {
      var buffered = 0
      var (file, count) = (-1, null: Array[Long])
      val numbers = new Array[Int](width)
      while (buffered < Buffered && rows.hasNext) {
        val row = rows.next()
        val position = row.getInt(width)
        if (position != file) {
          file = position
          count = counts.getOrElseUpdate(files(file), new Array[Long](drafts.size + 1))
          (0 until width).foreach(c => numbers(c) = targets(c).numbers(files(file)))
        }
        count(0) += 1
        var c = 0
        while (c < width) {
          if (!row.isNullAt(c)) {
            count(read(c) + 1) += 1
            val hash = hashers(c)(row)
            val slot = (hash & (Recent - 1)).toInt
            if (recentHash(c)(slot) != hash || recentFile(c)(slot) != file) {
              recentHash(c)(slot) = hash
              recentFile(c)(slot) = file
              chunks(firsts(c) + formats(c).shardOf(hash)) += formats(c).packed(hash, numbers(c))
              buffered += 1
            }
          }
          c += 1
        }
      }
      val full = chunks.indices.iterator.map(i => i -> chunks(i)).map { case (i, chunk) =>
        val values = chunk.result()
        chunk.clear()
        (i, values)
      }.filter(_._2.nonEmpty).toList
      isOver = !rows.hasNext
      val last = if (isOver) List((chunks.length, counted)) else Nil
      out = (full ++ last).iterator
    }

    private def counted: Array[Long] =
      counts.toArray.flatMap { case (file, count) => file.toLong +: count }
  }

  // the number of pairs in memory after which a task sends its chunks
  private val Buffered = 1 << 18
  // the number of slots in the table of recent pairs
  private val Recent = 1 << 12
}
