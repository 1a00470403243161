// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.index

import java.io.FileNotFoundException

import scala.annotation.tailrec
import scala.util.{Failure, Success, Try}
import scala.util.control.NonFatal

import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types.CharType

import io.sparkzorder.commands.{OrderingColumns, Phases}
import io.sparkzorder.conf.Settings
import io.sparkzorder.errors.{ZOrderErrors, ZOrderException}
import io.sparkzorder.index._
import io.sparkzorder.index.values.ValueDomain
import io.sparkzorder.log.{StateDirectory, TableLog}
import io.sparkzorder.ordered.DeclaredOrder
import io.sparkzorder.snapshot.Snapshot
import io.sparkzorder.table.{CatalogTables, DataFile, TableFiles, TableLister, Target, TargetChecks}
import io.sparkzorder.util.Paths

/**
 * Runs CREATE, REFRESH and DROP of a table's index. Data files are read and never changed.
 *
 * @param statement the statement's name, for the descriptions of its Spark jobs
 */
private[sparkzorder] final class IndexExecutor(session: Session, named: Target, statement: String) {
  private type Columns = Seq[Seq[String]]

  private val conf = session.sessionState.newHadoopConf()
  private val phases = new Phases(session.sparkContext, s"$statement ON ${named.name}")
  private lazy val target = new CatalogTables(session, conf).known(named)
  private lazy val root: Path = target.root(conf)
  private lazy val store = new IndexStore(root, conf)
  private lazy val state = new StateDirectory(root, conf)

  /**
   * @param columns the name parts of each column to index; empty for the default columns
   * @param readsInt96 true to read the values of INT96 columns
   * @param values names of the columns whose values are indexed; None for the columns that the property
   *   `zorder.index.values` of the table names
   */
  def create(
      columns: Columns,
      ifNotExists: Boolean,
      readsInt96: Boolean,
      values: Option[String]): IndexResult = {
    TargetChecks.checkForIndex(target, conf)
    checkSettings()
    store.generations().headOption match {
      case Some(_) if ifNotExists => existing()
      case Some(_) => throw ZOrderErrors.indexExists(target.name)
      case None =>
        val ofStatement = values.map(text =>
          IndexUpdate.namesIn(session, text).fold(
            why => throw ZOrderErrors.indexColumnInvalid(text, target.name, why),
            Right(_)))
        try build(
            if (columns.isEmpty) None else Some(columns),
            isNew = true,
            fromScratch = true,
            Some(readsInt96),
            ofStatement.getOrElse(IndexUpdate.declaredValues(session, target.properties)))
        catch {
          case e: ZOrderException if ifNotExists && e.isIndexExists =>
            existing()
        }
    }
  }

  /** Refuses an unknown key: a misspelt `zorder.index.values` would make an index without values. */
  private def checkSettings(): Unit = {
    val _ = new Settings(Map.empty, target.properties, session.conf.getAll)
  }

  private def existing(): IndexResult =
    try resultOfNewest(0L, Some("the index exists already"))
    catch {
      case e: ZOrderException => throw e
      case NonFatal(e) =>
        val problem = e match {
          case unknown: UnknownIndexVersionException => unknown.getMessage
          case _ => s"$e. If the file is damaged, REFRESH ZORDER INDEX makes a new index"
        }
        val path = store.generations().headOption.fold(root)(_.getPath)
        throw ZOrderErrors.stateUnreadable(path.toString, problem)
    }

  /** @param columns the name parts of each column to index; empty to keep the index's choice */
  def refresh(columns: Columns): IndexResult = {
    TargetChecks.checkForIndex(target, conf)
    checkSettings()
    if (!store.exists) throw ZOrderErrors.indexNotFound(target.name)
    build(
      if (columns.isEmpty) None else Some(columns),
      isNew = false,
      fromScratch = columns.nonEmpty,
      declared = IndexUpdate.declaredValues(session, target.properties))
  }

  def drop(ifExists: Boolean): IndexResult = {
    TargetChecks.checkForIndex(target, conf)
    store.generations().headOption match {
      case None if ifExists =>
        IndexResult(root.toString, 0L, Nil, 0L, 0L, 0L, Some("there is no index"))
      case None => throw ZOrderErrors.indexNotFound(target.name)
      case Some(newest) =>
        // an index that cannot be read can still be dropped
        val was = Try(result(newest, 0L, None)).getOrElse(
          IndexResult(root.toString, 0L, Nil, 0L, newest.getLen, 0L, None))
        store.drop()
        was
    }
  }

  /**
   * Writes a new version (a generation) of the index, for the files that are in the table now.
   *
   * @param columns the columns that the statement names; None if it names none
   * @param isNew true to fail if there is an index. Another statement may have made an index since the check
   * @param fromScratch true to read every footer again. All footers are also read again if the index lacks a column
   *   that is always indexed
   * @param int96 true to read the values of INT96 columns, false not to; None to do as the index says
   * @param declared the columns whose values are indexed, unless the index has such columns already; Left says why
   *   these columns are not known
   */
  private def build(
      columns: Option[Columns],
      isNew: Boolean,
      fromScratch: Boolean,
      int96: Option[Boolean] = None,
      declared: Either[String, Columns]): IndexResult = {
    val hadState = state.fs.exists(state.home)
    var (read, unreadable) = (0L, Seq.empty[String])
    var unknownColumns = Option.empty[String]
    def make(before: Option[IndexBefore]) = {
      // another statement has made an index meanwhile, with columns of its own choice
      if (isNew && before.isDefined) throw ZOrderErrors.indexExists(target.name)
      // another statement has dropped the index; an index that is there and cannot be read is made again
      if (!isNew && before.isEmpty && !store.exists) throw ZOrderErrors.indexNotFound(target.name)
      // The files are listed after the index was read. In the other order, another statement could add a file to the
      // table and to the index in between. The file would be in the index and not in the listing, like a removed file.
      val listed = phases("list")(readFiles())
      val had = before.flatMap(_.header.values).toSeq.flatMap(_.columns)
      val values = if (had.isEmpty) declared.getOrElse(Nil) else Nil
      unknownColumns = if (had.isEmpty) declared.left.toOption else None
      (columns.toSeq.flatten ++ values).foreach(checkNoPartitionColumn(_, listed))
      val readsInt96 = int96.getOrElse(before.exists(_.header.readsInt96))
      val chosen = columns.orElse(before.flatMap(_.header.chosen))
      val choice = ColumnChoice(chosen, orderingColumns ++ values ++ had.map(Seq(_)))
      val usable = before.filter(b => !fromScratch && covers(b.header, choice.always))
      val (known, gone) =
        usable.map(paths(_, listed, readsInt96)).getOrElse((Set.empty[String], Set.empty[String]))
      val missing = listed.files.filterNot(f => known(Relative.path(root, f.path)))
      awaitLaterTimes(missing)
      val built = phases("footers")(indexBuild(choice, readsInt96).of(missing))
      read = missing.size.toLong
      unreadable = built.unreadable
      columns.foreach(_.foreach(checkColumn(_, built.content, listed)))
      // checked only if all footers were read now: the types in the footers of new files alone are not enough
      if (usable.isEmpty) values.foreach(checkValues(_, built.content, listed))
      makeState(hadState, listed)
      val headed = HeaderValues.ofColumns(values.map(_.head))
      IndexChange(built.content, gone, usable.isDefined, chosen, headed)
    }
    val written = store.change(make, int96)
    if (written.isEmpty) {
      throw ZOrderErrors.stateUnreadable(
        store.generations().headOption.fold(root)(_.getPath).toString,
        "the format version of the index is unknown")
    }
    val begun = System.nanoTime()
    val missingValues =
      phases("values")(new ValuesUpdate(session, root, target.format).attempt(mayRebuild = true))
    val millis = (System.nanoTime() - begun) / 1000000L
    val unreadableFiles = unreadable.headOption.map(f =>
      s"${unreadable.size} files could not be read and are not in the index, such as $f")
    val reasons = unreadableFiles ++ unknownColumns ++ missingValues
    val reason = Some(reasons.mkString("; ")).filter(_.nonEmpty)
    resultOfNewest(read, reason, millis)
  }

  /** [[result]] of the newest generation, even if another statement writes a newer one and removes this one. */
  @tailrec
  private def resultOfNewest(
      filesRead: Long,
      reason: Option[String],
      valuesMillis: Long = 0L): IndexResult = {
    def newest = store.generations().headOption
    val generation = newest.getOrElse {
      throw ZOrderErrors.conflict(target.name, "another statement has dropped the index")
    }
    Try(result(generation, filesRead, reason, valuesMillis)) match {
      case Success(found) => found
      case Failure(_: FileNotFoundException)
          if !newest.map(_.getPath).contains(generation.getPath) =>
        resultOfNewest(filesRead, reason, valuesMillis)
      case Failure(e) => throw e
    }
  }

  /**
   * Makes the table's state directory. This is done after the last check, so that a refused statement leaves nothing
   * behind. If the table was dropped or overwritten meanwhile, its directory is not created again.
   *
   * @param had true if the table had such a directory when the statement began
   */
  private def makeState(had: Boolean, listed: TableFiles): Unit = {
    def isThere = state.fs.exists(if (had) state.home else root)
    // an empty new table may have no directory yet
    if ((!had && listed.files.isEmpty) || isThere) state.create()
  }

  /**
   * The files that readers with the extension read: visible files, and hidden files of shadows. Hidden files of a run
   * that is being published are left out, because the statement of that run adds them to the index.
   */
  private def readFiles(): TableFiles = {
    val files = new TableLister(session, target).list(identity, Snapshot.of(state, _, _))
    val shadows = TableLog.read(state).shadows
    val read = files.files.filter { f =>
      f.path.getParent == f.folder.path ||
      shadows.holds(Paths.relative(root, f.folder.path), f.path)
    }
    files.copy(files = IndexBuild.withoutTwins(read))
  }

  /**
   * Waits until a file that is written from now on has a later time than the listed files. Where times are
   * whole seconds, a later version of a file could otherwise have the length and the time of its entry.
   */
  private def awaitLaterTimes(missing: Seq[DataFile]): Unit = {
    val recent = System.currentTimeMillis() - IndexBuild.TickMs
    if (missing.exists(f => IndexBuild.isCoarse(f) && f.modified >= recent)) {
      Thread.sleep(IndexBuild.TickMs)
    }
  }

  private def indexBuild(choice: ColumnChoice, readsInt96: Boolean) =
    new IndexBuild(session, root, choice, format = target.format, readsInt96 = readsInt96)

  /**
   * The paths whose entries stay, and the paths whose entries go. An entry stays if the table has the file with
   * unchanged length and modification time. An entry also goes if values of INT96 columns are wanted and the entry has
   * none: OPTIMIZE makes entries from footers, which do not have these values.
   */
  private def paths(
      index: IndexBefore,
      listed: TableFiles,
      readsInt96: Boolean): (Set[String], Set[String]) = {
    val now = listed.files.map(f => Relative.path(root, f.path) -> f).toMap
    val files = index.files
    val unread = index.header.indexed.zipWithIndex.collect {
      case (c, i) if readsInt96 && c.leafType == Int96Leaf => index.column(i).nulls
    }
    val (known, gone) = (0 until files.size).filter(files.isLive).partition { i =>
      unread.forall(nulls => nulls(i) < 0) && now.get(files.path(i)).exists(f =>
        f.length == files.lengths(i) && f.modified == files.modified(i))
    }
    (known.map(files.path).toSet, gone.map(files.path).toSet)
  }

  /**
   * False if the index lacks one of the columns that are always indexed: the bounds of that column must be read
   * from every footer.
   */
  private def covers(index: IndexHeader, always: Columns): Boolean = {
    val has = index.columns.map(c => LeafColumns.fold(c.path)).toSet
    always.forall(c => has(LeafColumns.fold(c)))
  }

  private def orderingColumns: Columns = {
    val texts =
      try TableLog.read(state).layouts.headOption.map(_.columns)
          .orElse(target.properties.get(Settings.Columns.propertyKey).map(DeclaredOrder.split))
          .getOrElse(Nil)
      catch { case NonFatal(_) => Nil }
    // another program may have written the property
    OrderingColumns.parsed(texts)
  }

  private def checkNoPartitionColumn(column: Seq[String], listed: TableFiles): Unit = {
    val sameName = session.sessionState.conf.resolver
    if (listed.partitionSchema.exists(p => sameName(p.name, column.head))) {
      throw ZOrderErrors.indexColumnInvalid(
        column.mkString("."),
        target.name,
        "it is a partition column, whose values are in the names of the directories")
    }
  }

  private def checkColumn(column: Seq[String], content: IndexContent, listed: TableFiles): Unit = {
    val wanted = LeafColumns.fold(column)
    val leaves = content.shapes.flatMap(_.leaves).distinct
    val declared = listed.catalogSchema.toSeq.flatMap(_.fieldNames)
    val isDeclared = column.size == 1 && declared.exists(d => LeafColumns.fold(d) == wanted.head)
    if (leaves.exists(l => l.size > wanted.size && LeafColumns.fold(l).startsWith(wanted))) {
      throw ZOrderErrors.indexColumnInvalid(
        column.mkString("."),
        target.name,
        "it has no single value; name the fields of a struct, as in `column`.`field`")
    } else if (listed.files.nonEmpty && !isDeclared &&
      !leaves.exists(LeafColumns.fold(_: Seq[String]) == wanted)) {
      throw ZOrderErrors.columnNotFound(
        column.mkString("."),
        target.name,
        (declared ++ leaves.map(_.head)).distinct)
    }
  }

  /** Refuses a column whose values Spark does not read as they are stored: they cannot be indexed. */
  private def checkValues(
      column: Seq[String],
      content: IndexContent,
      listed: TableFiles): Unit = {
    def refuse(why: String) =
      throw ZOrderErrors.indexColumnInvalid(column.mkString("."), target.name, why)
    checkColumn(column, content, listed)
    if (column.size > 1) refuse("values of fields of structs are not indexed")
    val name = LeafColumns.lower(column.head)
    listed.catalogSchema.toSeq.flatMap(_.fields).filter(f => LeafColumns.lower(f.name) == name)
      .foreach { f =>
        val raw = CharVarcharUtils.getRawType(f.metadata).getOrElse(f.dataType)
        if (raw.isInstanceOf[CharType] || ValueDomain.of(f.dataType).isEmpty) {
          refuse(s"values of the type ${raw.sql} are not indexed")
        }
      }
    val leaves = ValuesUpdate.positions(column.head, content).map(content.indexed(_).leafType)
    val isThere = content.shapes.exists(_.leaves.exists(l => l.map(LeafColumns.lower) == Seq(name)))
    if (leaves.isEmpty && isThere) refuse("values of its type are not indexed")
    else if (leaves.nonEmpty) {
      TypeToRead.ofMost(leaves.map(_ -> 1L).toMap, target.format).left.foreach(refuse)
    }
  }

  /**
   * @param file a generation of the index
   * @param filesRead the number of files whose footers this statement has read
   */
  private def result(
      file: FileStatus,
      filesRead: Long,
      reason: Option[String],
      valuesMillis: Long = 0L): IndexResult = {
    val reader = new IndexReader(file, conf)
    val files = reader.files()
    val live = (0 until files.size).filter(files.isLive)
    IndexResult(
      root.toString,
      live.size.toLong,
      reader.header.indexed.map(_.name).distinct,
      live.map(files.rows(_)).sum,
      reader.bytes,
      filesRead,
      reason,
      ValuesUpdate.summaries(root, conf),
      valuesMillis)
  }
}
