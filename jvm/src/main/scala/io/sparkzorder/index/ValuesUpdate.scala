// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index

import java.io.FileNotFoundException
import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.SparkException
import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types.StructType

import io.sparkzorder.index.values._
import io.sparkzorder.log.StateDirectory
import io.sparkzorder.table.{DataFile, DataFormat, Folder, TableFiles}
import io.sparkzorder.util.{Directories, JobCancellation, ManyFiles, ModificationTimes, Paths}

/**
 * What an index of values holds of one column.
 *
 * @param files the number of files of the index whose values it has
 * @param uncovered the number of the other files of the index
 * @param pairs the number of pairs of a distinct value and a file that has the value, of all parts
 */
private[sparkzorder] final case class ValuesSummary(
    column: String,
    files: Long,
    uncovered: Long,
    pairs: Long,
    bytes: Long)

/**
 * Completes the index of values of a table: reads the values of files that have an entry in the index, but whose
 * values the index lacks.
 *
 * @param root the table's directory, qualified
 */
private[sparkzorder] final class ValuesUpdate(session: Session, root: Path, format: DataFormat)
    extends Logging {
  import ValuesUpdate._

  private val conf: Configuration = session.sessionState.newHadoopConf()
  private val store = new IndexStore(root, conf)

  /**
   * Like [[run]], but an error is only a warning, because the index of bounds works without values. If the user cancels
   * CREATE or REFRESH, the statement fails; after a rewrite it does not, because the rewrite is committed.
   *
   * @param mayRebuild true for CREATE and REFRESH, see [[run]]
   * @return why the index lacks values that it should have; None if it has them all
   */
  def attempt(mayRebuild: Boolean): Option[String] = {
    val missing =
      try Some(run(mayRebuild).mkString("; ")).filter(_.nonEmpty)
      catch {
        case NonFatal(e) if !(mayRebuild && JobCancellation.isCauseOf(e)) =>
          logWarning(s"the index of $root does not have the values of all files", e)
          Some("values of some files are not in the index, and REFRESH tries again: " +
            e.getMessage)
      }
    missing.foreach(why => logWarning(s"the index of $root: $why"))
    missing
  }

  /**
   * Reads the values of all files that lack them, in jobs of Spark, and names the new parts in a new
   * generation. Does nothing if the index has no list of columns.
   *
   * @param mayRebuild true to replace the parts of a column if it has many parts, if a part is damaged or has
   *   another domain, or if most of their files are gone
   * @return why the index lacks values that it should have; empty if it has them all
   */
  def run(mayRebuild: Boolean): Seq[String] =
    (for {
      generation <- store.newest
      index = new LoadedIndex(root, generation, conf, CacheBytes)
      header = new IndexReader(generation.file, conf).header
      values <- header.values if values.columns.nonEmpty
    } yield complete(index, values, mayRebuild)).getOrElse(Nil)

  private def complete(
      index: LoadedIndex,
      values: HeaderValues,
      mayRebuild: Boolean): Seq[String] = {
    val columns = values.columns.flatMap(c => Column.of(c, index, values, format, mayRebuild))
    val table = index.table
    val wanted =
      (0 until table.size).filter(i => table.isLive(i) && columns.exists(_.isWanted(i)))
    val now =
      if (wanted.isEmpty) Map.empty[String, FileStatus]
      else listed(wanted.map(table.path), table.size)
    val (read, changed) = wanted.filter(i => now.contains(table.path(i)))
      .partition(i => isSame(now(table.path(i)), table, i))
    val written = read.grouped(PostingsFormat.MaxFiles).flatMap { some =>
      val of = columns.filter(c => some.exists(c.isWanted))
      jobs(index, of, some, some.map(i => now(table.path(i))))
    }.toSeq
    val (useful, empty) = written.partition(_.part.files.count > 0)
    remove(empty)
    if (useful.nonEmpty) {
      lazy val live = (0 until table.size).filter(table.isLive)
        .map(i => (table.path(i), table.lengths(i), table.modified(i))).toSet
      val replaced = columns.filter(_.isRebuilt).flatMap { c =>
        val again =
          useful.map(_.part).filter(_.column == c.name).flatMap(p => states(p.files)).toSet
        // a part stays if it alone has the values of a file that could not be read again
        values.of(c.name).filter(p =>
          p.domain != c.toRead.domain.text || statesOf(p).forall(_.intersect(live).subsetOf(again)))
      }
      commit(useful, replaced.map(_.name).toSet, values.parts)
    }
    val waiting = for (c <- columns; why <- c.closed) yield {
      val files = (0 until table.size).filter(i => table.isLive(i) && c.isLacking(i))
      missing(files.map(table.path), n => s"$why, and values of $n files wait for REFRESH")
    }
    missing(
      (written.flatMap(_.missed) ++ unreadable).distinct,
      n => s"values of $n files could not be read and are not in the index").toSeq ++
      missing(
        changed.map(table.path),
        n => s"$n files changed, or have times that tell no change, and have no values") ++
      waiting.flatten
  }

  private def missing(files: Seq[String], why: Int => String): Option[String] =
    files.headOption.map(f => s"${why(files.size)}, such as $f")

  private def isSame(f: FileStatus, table: FileTable, i: Int): Boolean =
    f.getLen == table.lengths(i) && f.getModificationTime == table.modified(i) &&
      // queries take a file for unknown if its time tells no change, so values of the file would be of no use
      ModificationTimes.tellChanges(table.modified(i))

  // paths of the files that no job could read
  private var unreadable = Vector.empty[String]

  /** Halves the files of a job that fails, until only the files remain that cannot be read. */
  private def jobs(
      index: LoadedIndex,
      columns: Seq[Column],
      entries: IndexedSeq[Int],
      files: IndexedSeq[FileStatus]): Seq[WrittenPart] =
    try job(index, columns, entries, files)
    catch {
      case e: SparkException
          if !JobCancellation.isCauseOf(e) && !session.sparkContext.isStopped =>
        val half = entries.size / 2
        // with too many unreadable files, the error is probably not of single files and would fail all halves
        if (half == 0 || unreadable.size >= MaxUnreadable) {
          logWarning(s"values of ${entries.size} files cannot be read: ${files.head.getPath}", e)
          unreadable ++= entries.map(index.table.path(_))
          Nil
        } else {
          jobs(index, columns, entries.take(half), files.take(half)) ++
            jobs(index, columns, entries.drop(half), files.drop(half))
        }
    }

  private def job(
      index: LoadedIndex,
      columns: Seq[Column],
      entries: IndexedSeq[Int],
      files: IndexedSeq[FileStatus]): Seq[WrittenPart] = {
    val table = index.table
    val folders = files.map(_.getPath.getParent).distinct
      .map(f => f -> new Folder(f, InternalRow.empty)).toMap
    val listing = TableFiles(
      root,
      new StructType(),
      None,
      folders.values.toIndexedSeq,
      files.map(f => DataFile(folders(f.getPath.getParent), f)),
      Nil)
    val toCover = entries.map { i =>
      val nulls = columns.map(c => if (c.isWanted(i)) c.nulls(i) else None)
      FileToCover(table.path(i), table.rows(i), nulls.toIndexedSeq)
    }
    new ValuesJob(session, store.home, format, columns.map(_.toRead).toIndexedSeq)
      .run(
        listing,
        toCover,
        { () =>
          val now = listed(toCover.map(_.path), table.size)
          i => now.get(toCover(i).path).exists(isSame(_, table, entries(i)))
        })
  }

  /**
   * Writes a generation of the index that refers to the new parts.
   *
   * @param replaced the names of the parts that the new parts replace
   * @param known the parts that the index had before the values were read. Parts that another session has added
   *   meanwhile stay
   */
  private def commit(
      written: Seq[WrittenPart],
      replaced: Set[String],
      known: Seq[HeaderValuesPart]): Unit = {
    val names = known.map(_.name).toSet
    var unused = Seq.empty[WrittenPart]
    val _ = store.change { before =>
      val header = before.map(_.header)
        .filter(_.values.isDefined)
        .getOrElse {
          // other statements would remove these parts a day later at the earliest
          remove(written)
          throw new FileNotFoundException(s"the index of $root was dropped meanwhile")
        }
      val was = header.values.get
      val kept = was.parts.filterNot(p => replaced(p.name))
      val others = kept.filterNot(p => names(p.name))
      val (used, useless) =
        written.partition(w => was.columns.exists(named(w).isOf) && !hasAll(others, w.part))
      unused = useless
      IndexChange(
        IndexContent.empty,
        Set.empty,
        keepsOthers = true,
        header.chosen,
        Some(was.copy(parts = kept ++ used.map(named))))
    }
    remove(unused)
  }

  private def remove(parts: Seq[WrittenPart]): Unit =
    parts.foreach(p => store.removeValuesPart(ValuesPart.nameOf(p.part.id)))

  private def named(written: WrittenPart): HeaderValuesPart = {
    val WrittenPart(part, head) = written
    HeaderValuesPart(
      ValuesPart.nameOf(part.id),
      part.column,
      part.domain,
      part.files.count,
      head,
      part.shardBytes + head,
      part.pairs,
      part.distinct)
  }

  /** True if parts that another session has added meanwhile already have all values of `part`. */
  private def hasAll(others: Seq[HeaderValuesPart], part: ValuesPart): Boolean = {
    val same = others.filter(p => p.isOf(part.column) && p.domain == part.domain)
    same.nonEmpty && {
      val has = same.map(statesOf)
      has.forall(_.isDefined) && states(part.files).subsetOf(has.flatten.flatten.toSet)
    }
  }

  /** The files whose values a part has, each as path, length and time; None if the part is damaged. */
  private def statesOf(part: HeaderValuesPart): Option[Set[(String, Long, Long)]] =
    Try(states(LoadedValues.head(new Path(store.home, part.name), part, conf).files)).toOption

  private def states(files: CoveredFiles): Set[(String, Long, Long)] =
    (0 until files.size).filter(files.covered(_))
      .map(i => (new String(files.paths(i), UTF_8), files.lengths(i), files.modified(i))).toSet

  /**
   * The files that exist at the given paths below the root, by path. Few files of a large table are looked up one by
   * one. OPTIMIZE updates the index after each batch of a folder, and would else list the whole folder each time.
   *
   * @param all the number of files in the index
   */
  private def listed(paths: Seq[String], all: Int): Map[String, FileStatus] =
    if (ManyFiles.areFew(paths.size, all)) {
      val state = new StateDirectory(root, conf)
      ManyFiles.map(paths)(p =>
        state.status(Paths.folder(root, p)).filter(_.isFile).map(p -> _)).flatten.toMap
    } else {
      val wanted = paths.toSet
      val folders = paths.map(p => p.take(math.max(0, p.lastIndexOf('/')))).distinct
      ManyFiles.map(folders) { folder =>
        val path = Paths.folder(root, folder)
        Directories.list(path.getFileSystem(conf), path).getOrElse(Nil).filter(_.isFile)
          .flatMap(f => Relative.below(root, f.getPath).filter(wanted).map(_ -> f))
      }.flatten.toMap
    }
}

private[sparkzorder] object ValuesUpdate {

  /** After this many unreadable files, the files of a failed job are not halved any more. */
  private val MaxUnreadable = 16

  /** A column with this many parts gets no further part, until REFRESH replaces the parts by a new one. */
  val MostParts = 20

  private val CacheBytes = 256L << 20

  /** The number of bits that are set in a bitmap. */
  private def countOf(words: Array[Long]): Long =
    words.map(w => java.lang.Long.bitCount(w).toLong).sum

  /** What the index holds of each column; nothing is cached. */
  def summaries(root: Path, conf: Configuration): Seq[ValuesSummary] =
    new IndexStore(root, conf).newest.toSeq.flatMap { generation =>
      val header = new IndexReader(generation.file, conf).header
      header.values.toSeq.flatMap { v =>
        val index = new LoadedIndex(root, generation, conf, CacheBytes)
        val live = (0 until index.table.size).count(index.table.isLive).toLong
        v.columns.map { column =>
          val parts = v.of(column)
          val covered = parts.map(_.domain).distinct.map { d =>
            // a damaged part covers no file
            Try(index.valuesIn(column, d).map(_.covered)).toOption.flatten.fold(0L)(countOf)
          }.sum
          ValuesSummary(
            column,
            covered,
            live - covered,
            parts.map(_.pairs).sum,
            parts.map(_.bytes).sum)
        }
      }
    }

  /**
   * A column whose values are to be read.
   *
   * @param nulls the number of NULLs in a file of the index; None if the values of the file cannot be indexed
   * @param isKnown true for a file whose values need not be read, because the index has them
   * @param isRebuilt true if all values are read again
   * @param closed why the column must get no further part; None if it may
   */
  private final case class Column(
      name: String,
      toRead: ColumnToRead,
      nulls: Int => Option[Long],
      isKnown: Int => Boolean,
      isRebuilt: Boolean,
      closed: Option[String]) {
    def isLacking(i: Int): Boolean = nulls(i).isDefined && !isKnown(i)
    def isWanted(i: Int): Boolean = closed.isEmpty && isLacking(i)
  }

  private object Column {

    def of(
        name: String,
        index: LoadedIndex,
        values: HeaderValues,
        format: DataFormat,
        mayRebuild: Boolean): Option[Column] = {
      val stored = positions(name, index)
      val nulls = stored.map(index.column(_).nulls)
      val table = index.table
      val counts = stored.zip(nulls).map { case (s, of) =>
        index.indexed(s).leafType ->
          (0 until table.size).count(i => table.isLive(i) && of(i) >= 0).toLong
      }
      val types = counts.groupBy(_._1).map { case (leaf, same) => leaf -> same.map(_._2).sum }
      val most = if (types.isEmpty) None else TypeToRead.ofMost(types, format).toOption
      for ((t, leaves) <- most; domain <- ValueDomain.of(t)) yield {
        val isRead = stored.map(s => leaves(index.indexed(s).leafType))
        val parts = values.of(name)
        // a failure if a part cannot be read now: the part may be damaged
        val known = Try(index.values(name, domain).map(_.covered))
        val covered = known.toOption.flatten
        val files = covered.fold(0L)(countOf)
        val rebuilt = mayRebuild && parts.nonEmpty &&
          (known.isFailure || parts.size >= MostParts || parts.exists(_.domain != domain.text) ||
            2 * files < parts.map(_.files.toLong).sum)
        Column(
          name,
          ColumnToRead(name, t, domain),
          { i =>
            // only a file with exactly one column of this name, and of a type that is read unchanged
            val has = nulls.indices.filter(nulls(_)(i) >= 0)
            if (has.size == 1 && isRead(has.head)) Some(nulls(has.head)(i)) else None
          },
          i => !rebuilt && covered.exists(words => (words(i >> 6) >>> i & 1L) != 0),
          rebuilt,
          if (rebuilt) None
          else if (known.isFailure) Some(s"the values of `$name` in the index cannot be read")
          else Some(s"`$name` has ${parts.size} parts in the index").filter(_ =>
            parts.size >= MostParts))
      }
    }
  }

  /** The positions of a column in the index, which has one for each spelling and type. */
  def positions(name: String, index: IndexColumns): Seq[Int] =
    index.indexed.indices.filter { i =>
      val path = index.indexed(i).path
      path.size == 1 && LeafColumns.lower(path.head) == LeafColumns.lower(name)
    }
}
