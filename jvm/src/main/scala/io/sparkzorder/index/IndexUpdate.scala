// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.internal.Logging
import org.apache.spark.sql.sparkzorder.SparkLine.Session

import io.sparkzorder.conf.Settings
import io.sparkzorder.log.{Record, Shadows, StateDirectory, TableLog}
import io.sparkzorder.table.{DataFile, DataFormat, Target, WrittenName}
import io.sparkzorder.table.stats.ScannedFile
import io.sparkzorder.util.{NameList, Paths}

/**
 * Updates the index of a table after a run was published. A rename keeps the length and the modification time of a
 * file, so the footer of a staged file also describes the file after the rename. An error here makes queries slower
 * and loses no row, because queries read every file without an entry.
 */
private[sparkzorder] object IndexUpdate extends Logging {

  /**
   * @param record what was published
   * @param footers of the new files, with their paths in the staging directory
   * @param ordering name parts of the ordering columns, which are always indexed
   * @param target the table
   */
  def after(
      session: Session,
      state: StateDirectory,
      record: Record,
      footers: Seq[ScannedFile],
      ordering: Seq[Seq[String]],
      target: Target): Unit = guarded(state.root) {
    // The visible files that a shadow stands for keep their entries. If one of them changes, readers stop using the
    // shadow and read the visible files again.
    val gone = if (record.makesShadow) Set.empty[String] else replaced(Seq(record))
    update(session, state, target, ordering, gone) { choice =>
      val places = placesOf(record)
      new IndexBuild(session, state.root, choice, format = target.format)
        .ofFooters(footers.flatMap(f => places.get(f.file.path.getName).map(f -> _)))
    }
  }

  /**
   * Updates the index after this statement has published or abandoned runs that other statements had committed, has
   * published shadows, or has published a run only in part. Reads the footers of the files that those runs wrote.
   *
   * @param records what was published or abandoned just now, in their order
   * @param target the table
   */
  def recovered(
      session: Session,
      state: StateDirectory,
      records: Seq[Record],
      target: Target): Unit = {
    val done = records.filter(_.exchangesFiles)
    if (done.nonEmpty) guarded(state.root) {
      val conf = session.sessionState.newHadoopConf()
      // the folders are listed only if an index is there or to be made
      lazy val now = filesIn(state, done)
      lazy val all = added(now, done)
      // If there is no index, an OPTIMIZE makes one, unless all its files were taken back. An undo makes none.
      if (new IndexStore(state.root, conf).exists ||
        done.exists(_.kind == Record.Optimize) && all.nonEmpty) {
        val names = all.flatMap(f => Relative.below(state.root, f.path)).toSet
        // An undo brings back files whose names are not unique to a run. If times are whole seconds, a file of another
        // folder may have the same name, length and time, also if the undo did not change that folder. Such files get
        // no entry (`IndexBuild.withoutTwins`).
        val ofUndo = added(now, done.filter(_.undone.isDefined)).map(_.path).toSet
        val files = IndexBuild.withoutTwins(all.toIndexedSeq)
          .filterNot(f => IndexBuild.isCoarse(f) && ofUndo(f.path))
        val ordering = done.reverseIterator.map(_.columns).find(_.nonEmpty).getOrElse(Nil)
          .map(WrittenName.parts)
        val gone = replaced(done, now) ++ shadowsOf(state, done) ++ names
        update(session, state, target, ordering, gone) { choice =>
          new IndexBuild(session, state.root, choice, format = target.format).of(files).content
        }
      }
    }
  }

  /**
   * Makes the index of a new table, as INTO writes it.
   *
   * @param footers of all files of the new table, at their final paths
   * @param source the directory of the table whose indexed columns the new index gets
   */
  def ofCopy(
      session: Session,
      state: StateDirectory,
      footers: Seq[ScannedFile],
      ordering: Seq[Seq[String]],
      source: Path,
      format: DataFormat): Unit = guarded(state.root) {
    state.create()
    val conf = session.sessionState.newHadoopConf()
    val header = Try {
      new IndexStore(source, conf).generations().headOption.map(new IndexReader(_, conf).header)
    }.toOption.flatten
    val chosen = header.flatMap(_.chosen)
    val columns = header.flatMap(_.values).map(_.columns)
    new IndexStore(state.root, conf).change { _ =>
      val always = ordering ++ columns.toSeq.flatten.map(Seq(_))
      val content =
        new IndexBuild(session, state.root, ColumnChoice(chosen, always), format = format)
          .ofFooters(footers.flatMap(f => Relative.below(state.root, f.file.path).map(f -> _)))
      val values = columns.flatMap(HeaderValues.ofColumns)
      IndexChange(content, Set.empty, keepsOthers = false, chosen, values)
    }
    new ValuesUpdate(session, state.root, format).attempt(mayRebuild = false)
  }

  /**
   * The columns of the property `zorder.index.values`, by their name parts. Left says why the property
   * cannot be read; then the table gets no index of values.
   */
  def declaredValues(
      session: Session,
      properties: Map[String, String]): Either[String, Seq[Seq[String]]] =
    properties.get(Settings.IndexValues.propertyKey).fold[Either[String, Seq[Seq[String]]]](
      Right(Nil)) { text =>
      namesIn(session, text).left.map(why => s"${Settings.IndexValues.propertyKey} = $text: $why")
    }

  /** The name parts of columns that are separated by commas and quoted as in SQL. Left says what is wrong. */
  def namesIn(session: Session, text: String): Either[String, Seq[Seq[String]]] =
    try Right(NameList.split(text).map(session.sessionState.sqlParser.parseMultipartIdentifier))
    catch {
      case NonFatal(_) =>
        Left("this is no list of columns, which are separated by commas and quoted by backticks")
    }

  /** @param gone relative paths whose entries are removed */
  private def update(
      session: Session,
      state: StateDirectory,
      target: Target,
      ordering: Seq[Seq[String]],
      gone: Set[String])(added: ColumnChoice => IndexContent): Unit =
    // if the state directory is gone, the table was overwritten
    if (state.fs.exists(state.home)) {
      val conf = session.sessionState.newHadoopConf()
      new IndexStore(state.root, conf).change { before =>
        val chosen = before.flatMap(_.header.chosen)
        val values = before match {
          case Some(b) => b.header.values
          case None =>
            val declared = declaredValues(session, target.properties)
            declared.left.foreach(why => logWarning(s"no index of values of ${target.name}: $why"))
            HeaderValues.ofColumns(declared.getOrElse(Nil).filter(_.size == 1).map(_.head))
        }
        val always = ordering ++ values.toSeq.flatMap(_.columns).map(Seq(_))
        val content = added(ColumnChoice(chosen, always))
        IndexChange(content, gone, keepsOthers = true, chosen, values)
      }
      new ValuesUpdate(session, state.root, target.format).attempt(mayRebuild = false)
    }

  private def guarded(root: Path)(body: => Any): Unit =
    try body
    catch { case NonFatal(e) => logWarning(s"the index of $root was not updated", e) }

  /** The files that are now in the folders of some runs, by folder and name. */
  private def filesIn(state: StateDirectory, records: Seq[Record]): FilesByFolder =
    records.flatMap(_.changes.map(_.folder)).distinct.map { folder =>
      val listed = Try(state.fs.listStatus(Paths.folder(state.root, folder)).toSeq).getOrElse(Nil)
      folder -> listed.map(s => s.getPath.getName -> s).toMap
    }.toMap

  /** Files that runs added and that are in their folders now. */
  private def added(now: FilesByFolder, records: Seq[Record]): Seq[DataFile] =
    records.flatMap(_.changes).groupBy(_.folder).toSeq.flatMap { case (folder, changes) =>
      changes.flatMap(_.added.map(_.name)).distinct.flatMap(now(folder).get).map(DataFile.alone)
    }

  /** Where each staged file goes, by its name. */
  private def placesOf(record: Record): Map[String, String] =
    record.changes.flatMap(c =>
      c.added.map { a =>
        val place = if (record.makesShadow) Shadows.placeOf(record.run, a) else a.name
        a.staged -> c.path(place)
      }).toMap

  /**
   * The paths of the files that some runs have replaced.
   *
   * @param now the present files. A replaced file that a conflict has put back is among them, and keeps its entry
   */
  private def replaced(records: Seq[Record], now: FilesByFolder = Map.empty): Set[String] =
    records.flatMap(_.changes.flatMap { c =>
      val there = now.getOrElse(c.folder, Map.empty)
      c.replaced.filterNot(r => there.get(r.name).exists(r.is)).map(r => c.path(r.name))
    }).toSet

  /** Paths of the hidden files of shadows that some runs have published. */
  private def shadowsOf(state: StateDirectory, records: Seq[Record]): Set[String] = {
    if (records.forall(_.publishedRuns.isEmpty)) Set.empty
    else {
      val shadows = TableLog.read(state).shadows
      val isPublished = records.flatMap(shadows.publishedBy).toSet
      (for {
        k <- shadows.all
        c <- k.shadow if isPublished(k.record.run -> c.folder)
        a <- c.added
      } yield c.path(Shadows.placeOf(k.record.run, a))).toSet
    }
  }

  private type FilesByFolder = Map[String, Map[String, FileStatus]]
}
