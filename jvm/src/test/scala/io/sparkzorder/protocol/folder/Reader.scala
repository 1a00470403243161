// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.protocol.folder

import scala.util.Try

import io.sparkzorder.protocol.{Disk, Failed, Finished, Forget, Program, Rows}
import io.sparkzorder.protocol.Program._

/** Those who only read; the result is the rows that they got. */
final class Reader(fault: Fault.Value) {
  private val places = new PlacesModel(fault)

  /** Without the extension: a listing in two halves, as of a large directory, and then each file. */
  def plain(folder: String): Program[Seq[String]] = for {
    early <- names(folder, _ < "m")
    late <- names(folder, _ >= "m")
    rows <- each(early ++ late)(n => open(s"$folder/$n"))
  } yield rows.flatten

  private def names(folder: String, half: String => Boolean) =
    look("list")(d => d.list(folder).getOrElse(Nil).filter(At.isVisible).filter(half))

  private def open(path: String): Program[Seq[String]] = look("open")(_.rows(path)).flatMap {
    case Some(content) => Finished(content.rows)
    case None => Failed("FileNotFoundException")
  }

  /** @param only the folder that is read; None when the whole table is */
  private case class Listing(files: Map[String, Map[String, Rows]], only: Option[String]) {
    def covers(folder: String): Boolean = only.forall(_ == folder)
    def in(folder: String): Map[String, Rows] = files.getOrElse(folder, Map.empty)
    def shows(folder: String, o: Old): Boolean = in(folder).get(o.name).contains(o.content)
  }

  /** With the extension: a listing of any age, the records, and where the files of open runs are. */
  def read(folder: String): Program[Seq[String]] =
    look("list")(filesIn(_, folder)).flatMap(files =>
      attempt(Listing(Map(folder -> files), Some(folder))))

  /** The same for all folders of a table, which are found first. */
  val readTable: Program[Seq[String]] = for {
    folders <- look("list t")(d =>
      d.list("t").getOrElse(Nil).filter(At.isVisible).map(n => s"t/$n").filter(d.directories))
    listed <- each(folders)(f =>
      look("list")(d => if (d.directories(f)) Some(filesIn(d, f)) else None).flatMap {
        case Some(files) => Finished(f -> files)
        // Spark alone misses these rows, too
        case None => Failed("a folder is moved while Spark lists")
      })
    rows <- attempt(Listing(listed.toMap, None))
  } yield rows

  private def filesIn(d: Disk, folder: String): Map[String, Rows] =
    d.list(folder).getOrElse(Nil).filter(At.isVisible)
      .flatMap(n => d.rows(s"$folder/$n").map(n -> _)).toMap

  private case class Seen(run: Run, done: Boolean, conflict: Boolean)

  private val records: Program[Seq[Seen]] = look("records") { d =>
    val names = d.list(At.commits).getOrElse(Nil)
    names.flatMap(n => Try(n.drop(1).toInt).toOption.map(i => i -> d.get(At.record(i)))).collect {
      case (i, Some(r: Numbered)) if !r.aborts =>
        Seen(r.run, d.get(At.done(i)).isDefined, d.get(At.conflict(i)).isDefined)
    }
  }

  private def attempt(listing: Listing): Program[Seq[String]] = {
    def again = Forget(("again", listing), attempt(listing))
    for {
      before <- records
      laid <- lay(listing, before.toList).attempt
      after <- records
      rows <- laid match {
        case Left(Reader.Moved) => again
        case _ if before != after => again
        case Left(error) => Failed(error)
        case Right(files) =>
          // where a file is nowhere, the listing is left as it is: opening the old files fails
          val paths = (listing.files.keySet ++ files.keySet).toSeq.sorted.flatMap(folder =>
            files.getOrElse(folder, None).getOrElse(
              listing.in(folder).keys.toSeq.sorted.map(n => s"$folder/$n")))
          Forget(("open", paths), each(paths)(open).map(_.flatten))
      }
    } yield rows
  }

  private type Paths = Option[Seq[String]]

  private def lay(
      listing: Listing,
      runs: List[Seen]): Program[Map[String, Paths]] =
    each(runs)(s =>
      (if (s.done) Finished(s.run.changes)
       else places.of(s.run).map(_.flatMap(_._2))).map(_.map(s -> _))).flatMap { changes =>
      val byFolder = changes.flatten.filter(c => listing.covers(c._2.folder)).groupBy(_._2.folder)
      each(byFolder.toSeq.sortBy(_._1)) { case (folder, here) =>
        one(folder, listing, here.toList).map(folder -> _)
      }.map(_.toMap)
    }

  private def one(
      folder: String,
      listing: Listing,
      here: List[(Seen, Change)]): Program[Paths] = {
    here match {
      case Nil => Finished(None)
      case (seen, change) :: _ =>
        val steps = new FolderSteps(fault, false, seen.run.id, change)
        val token = if (seen.done && !seen.conflict) Finished(Token.Over) else steps.token
        token.flatMap {
          // of a run that is done with a conflict no file moves any more
          case Token.Gone | Token.Conflict if seen.done => ended(folder, seen, change, listing)
          case Token.Gone => steps.isInDoubt.flatMap {
              if (_) Failed("ZORDER_FOLDER_IN_DOUBT")
              else steps.token.flatMap {
                case Token.Gone => settled(folder, seen, change, listing)
                // ABANDON has made a token meanwhile
                case _ => one(folder, listing, here)
              }
            }
          case Token.Conflict => conflict(folder, seen, change, listing)
          case _ => exchanged(folder, seen, change, listing)
        }
    }
  }

  private def exchanged(
      folder: String,
      s: Seen,
      c: Change,
      listing: Listing): Program[Paths] = {
    val own = At.own(folder, s.run.id)
    val listed = listing.in(folder)
    val rest = beside(folder, c, listed)
    val touched = c.old.exists(o => listed.get(o.name).contains(o.content))
    if (s.done && !touched && c.added.forall(a => listed.contains(a.name))) Finished(None)
    else located(
      c.added)(a =>
      Seq(s"$own/_new_${a.index}", s"$folder/${a.name}", s"$own/_new_${a.index}"))
      .flatMap {
        case None if !s.done && !touched => notMoved(folder, s).map(_ => None)
        case None if s.done && fault != Fault.MovedUnseen =>
          places.of(s.run.copy(changes = Seq(c))).flatMap(moved(c, listing, _))
        case found => Finished(found.map(rest ++ _))
      }
  }

  /** A published folder that was moved: a listing that shows its files in neither place is no answer. */
  private def moved(
      c: Change,
      listing: Listing,
      now: Seq[(Change, Option[Change])]): Program[Paths] =
    now.flatMap(_._2).map(_.folder).find(_ != c.folder) match {
      case None => Finished(None)
      case Some(to) =>
        val missing = if (listing.covers(to))
          c.added.filterNot(a => listing.in(to).contains(a.name))
        else Nil
        any(missing)(a => look("moved?")(_.get(s"$to/${a.name}").isDefined))
          .flatMap(if (_) Failed("ZORDER_LISTING_INCOMPLETE") else Finished(None))
    }

  private def conflict(folder: String, s: Seen, c: Change, listing: Listing): Program[Paths] = {
    val rest =
      listing.in(folder).keys.filter(n =>
        !c.old.exists(_.name == n) && !c.added.exists(_.name == n))
        .map(n => s"$folder/$n").toSeq
    each(c.old)(o => wherever(folder, s, o).flatMap(orListed(folder, s, o, listing)))
      .map(found => Some(rest ++ found.flatten))
  }

  /** What was listed and is no file of the run. */
  private def beside(folder: String, c: Change, listed: Map[String, Rows]): Seq[String] =
    listed.toSeq.collect {
      case (n, r)
          if !c.old.exists(o => o.name == n && o.content == r) && !c.added.exists(_.name == n) =>
        s"$folder/$n"
    }

  /**
   * A conflict is over: of the run's files, new and old, those that have their names now. An old file that
   * was listed is read also where the conflict keeps it.
   */
  private def ended(folder: String, s: Seen, c: Change, listing: Listing): Program[Paths] = {
    val closed = At.closed(folder, s.run.id)
    val listed = listing.in(folder)
    val rest = beside(folder, c, listed)
    def there(path: String, content: Rows) =
      look("find")(_.rows(path).filter(_ == content).map(_ => path))
    for {
      added <- each(c.added)(a => there(s"$folder/${a.name}", a.content))
      old <- each(c.old.filterNot(o => rest.contains(s"$folder/${o.name}"))) { o =>
        val kept = if (listed.contains(o.name)) Seq(s"$closed/_old_${o.index}") else Nil
        first(s"$folder/${o.name}" +: kept)(there(_, o.content))
          .flatMap(found =>
            if (added.flatten.isEmpty) orListed(folder, s, o, listing)(found) else Finished(found))
      }
    } yield Some(rest ++ old.flatten ++ added.flatten)
  }

  /** An overwriter has won: what is there. A late publisher may hide an old file that was listed. */
  private def settled(folder: String, s: Seen, c: Change, listing: Listing): Program[Paths] = {
    val listed = listing.in(folder)
    val rest = listed.keys.filter(n => !c.old.exists(_.name == n)).map(n => s"$folder/$n").toSeq
    each(c.old)(o =>
      (if (listed.get(o.name).contains(o.content)) wherever(folder, s, o)
       else look("find")(d => d.rows(s"$folder/${o.name}").map(_ => s"$folder/${o.name}")))
        .flatMap(orListed(folder, s, o, listing)))
      .map(found => Some(rest ++ found.flatten))
  }

  /**
   * A file that is nowhere stays where it was listed. If it was not listed, its folder may have been moved
   * since.
   */
  private def orListed(folder: String, s: Seen, o: Old, listing: Listing)(
      found: Option[String]): Program[Option[String]] = {
    if (found.isDefined) Finished(found)
    else if (listing.shows(folder, o)) Finished(Some(s"$folder/${o.name}"))
    else for {
      // first whether what is hidden is elsewhere, because it may come back there meanwhile
      _ <- if (s.done) unit else notMoved(folder, s)
      moved <- look("moved?")(d =>
        d.list("t").getOrElse(Nil).filter(At.isVisible).map(n => s"t/$n")
          .find(f => d.rows(s"$f/${o.name}").contains(o.content)))
      _ <- if (moved.exists(to => listing.covers(to) && !listing.shows(to, o))) {
        Failed("ZORDER_LISTING_INCOMPLETE")
      } else unit
    } yield None
  }

  /** A folder may be moved after it was found: then all is done again. */
  private def notMoved(folder: String, s: Seen): Program[Unit] =
    places.of(s.run).flatMap(now =>
      if (now.flatMap(_._2).exists(_.folder == folder)) unit else Failed(Reader.Moved))

  /**
   * A replaced file may go all this way while somebody looks: a late publisher hides it, the directory is
   * closed, it comes back.
   */
  private def wherever(folder: String, s: Seen, o: Old): Program[Option[String]] = {
    val (own, closed) = (At.own(folder, s.run.id), At.closed(folder, s.run.id))
    first(Seq(
      s"$folder/${o.name}",
      s"$own/_old_${o.index}",
      s"$closed/_old_${o.index}",
      s"$folder/${o.name}"))(p => look("find")(d => d.rows(p).map(_ => p)))
  }

  private def located(added: Seq[New])(places: New => Seq[String]): Program[Paths] =
    each(added)(a => first(places(a))(p => look("find")(d => d.rows(p).map(_ => p))))
      .map(found => if (found.forall(_.isDefined)) Some(found.flatten) else None)
}

private object Reader {
  val Moved = "a folder of the run was moved meanwhile"
}
