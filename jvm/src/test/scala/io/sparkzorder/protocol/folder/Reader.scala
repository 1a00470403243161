package io.sparkzorder.protocol.folder

import scala.util.Try

import io.sparkzorder.protocol.{Failed, Finished, Forget, Program, Rows}
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

  /** With the extension: a listing of any age, the records, and where the files of open runs are. */
  def read(folder: String): Program[Seq[String]] = for {
    listed <- look("list")(d =>
      d.list(folder).getOrElse(Nil).filter(At.isVisible)
        .flatMap(n => d.rows(s"$folder/$n").map(n -> _)).toMap)
    rows <- attempt(folder, listed)
  } yield rows

  private case class Seen(run: Run, done: Boolean, conflict: Boolean)

  private val records: Program[Seq[Seen]] = look("records") { d =>
    val names = d.list(At.commits).getOrElse(Nil)
    names.flatMap(n => Try(n.drop(1).toInt).toOption.map(i => i -> d.get(At.record(i)))).collect {
      case (i, Some(r: Numbered)) if !r.aborts =>
        Seen(r.run, d.get(At.done(i)).isDefined, d.get(At.conflict(i)).isDefined)
    }
  }

  private def attempt(folder: String, listed: Map[String, Rows]): Program[Seq[String]] = for {
    before <- records
    laid <- lay(folder, listed, before.toList)
    after <- records
    rows <- if (before != after) Forget(("again", listed), attempt(folder, listed))
    else {
      // where a file is nowhere, the listing is left as it is: opening the old files fails
      val paths = laid.getOrElse(listed.keys.toSeq.sorted.map(n => s"$folder/$n"))
      Forget(("open", paths), each(paths)(open).map(_.flatten))
    }
  } yield rows

  private type Paths = Option[Seq[String]]

  private def lay(folder: String, listed: Map[String, Rows], runs: List[Seen]): Program[Paths] =
    each(runs)(s =>
      (if (s.done) Finished(s.run.changes)
       else places.of(s.run).map(_.flatMap(_._2))).map(_.filter(_.folder == folder).map(s -> _)))
      .flatMap(here => one(folder, listed, here.flatten.toList))

  private def one(
      folder: String,
      listed: Map[String, Rows],
      here: List[(Seen, Change)]): Program[Paths] =
    here match {
      case Nil => Finished(None)
      case (seen, change) :: _ =>
        val steps = new FolderSteps(fault, false, seen.run.id, change)
        val token = if (seen.done && !seen.conflict) Finished(Token.Over) else steps.token
        token.flatMap {
          // of a run that is done with a conflict no file moves any more
          case Token.Gone | Token.Conflict if seen.done => ended(folder, seen, change, listed)
          case Token.Gone => steps.isInDoubt.flatMap {
              if (_) Failed("ZORDER_FOLDER_IN_DOUBT") else settled(folder, seen, change, listed)
            }
          case Token.Conflict => conflict(folder, seen, change, listed)
          case _ => exchanged(folder, seen, change, listed)
        }
    }

  private def exchanged(
      folder: String,
      s: Seen,
      c: Change,
      listed: Map[String, Rows]): Program[Paths] = {
    val own = At.own(folder, s.run.id)
    val rest = beside(folder, c, listed)
    val touched = c.old.exists(o => listed.get(o.name).contains(o.content))
    if (s.done && !touched && c.added.forall(a => listed.contains(a.name))) Finished(None)
    else located(
      c.added)(a =>
      Seq(s"$own/_new_${a.index}", s"$folder/${a.name}", s"$own/_new_${a.index}"))
      .map(_.map(rest ++ _))
  }

  private def conflict(
      folder: String,
      s: Seen,
      c: Change,
      listed: Map[String, Rows]): Program[Paths] = {
    val (own, closed) = (At.own(folder, s.run.id), At.closed(folder, s.run.id))
    val rest = listed.keys.filter(n => !c.old.exists(_.name == n) && !c.added.exists(_.name == n))
      .map(n => s"$folder/$n").toSeq
    each(c.old)(o =>
      // it may go all this way while we look: a late publisher hides it, the directory is closed, it
      // comes back
      first(Seq(
        s"$folder/${o.name}",
        s"$own/_old_${o.index}",
        s"$closed/_old_${o.index}",
        s"$folder/${o.name}"))(p => look("find")(d => d.rows(p).map(_ => p))))
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
  private def ended(
      folder: String,
      s: Seen,
      c: Change,
      listed: Map[String, Rows]): Program[Paths] = {
    val closed = At.closed(folder, s.run.id)
    val rest = beside(folder, c, listed)
    def there(path: String, content: Rows) =
      look("find")(_.rows(path).filter(_ == content).map(_ => path))
    for {
      old <- each(c.old.filterNot(o => rest.contains(s"$folder/${o.name}"))) { o =>
        val kept = if (listed.contains(o.name)) Seq(s"$closed/_old_${o.index}") else Nil
        first(s"$folder/${o.name}" +: kept)(there(_, o.content))
      }
      added <- each(c.added)(a => there(s"$folder/${a.name}", a.content))
    } yield Some(rest ++ old.flatten ++ added.flatten)
  }

  /** An overwriter has won: what is there. */
  private def settled(
      folder: String,
      s: Seen,
      c: Change,
      listed: Map[String, Rows]): Program[Paths] = {
    val rest = listed.keys.filter(n => !c.old.exists(_.name == n)).map(n => s"$folder/$n").toSeq
    each(c.old)(o => look("find")(d => d.rows(s"$folder/${o.name}").map(_ => s"$folder/${o.name}")))
      .map(found => Some(rest ++ found.flatten))
  }

  private def located(added: Seq[New])(places: New => Seq[String]): Program[Paths] =
    each(added)(a => first(places(a))(p => look("find")(d => d.rows(p).map(_ => p))))
      .map(found => if (found.forall(_.isDefined)) Some(found.flatten) else None)
}
