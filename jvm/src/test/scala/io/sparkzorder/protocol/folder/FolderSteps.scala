// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.protocol.folder

import io.sparkzorder.protocol.{Finished, Forget, Program, Rows}
import io.sparkzorder.protocol.Program._

/** Where the token of a run is in a folder: it moves from the first to the second, and then to one of two. */
object Token extends Enumeration {
  val Waiting, Publishing, Over, Conflict, Gone = Value
}

/**
 * What a run does in one folder; every rename is inside the folder.
 *
 * @param exclusive whether a rename refuses to replace what is there, as that of HDFS
 */
final class FolderSteps(fault: Fault.Value, exclusive: Boolean, run: String, change: Change) {
  private val folder = change.folder
  private val own = At.own(folder, run)
  private val closed = At.closed(folder, run)
  private val shown = At.token(folder, run)
  private def original(o: Old) = s"$folder/${o.name}"
  private def visible(a: New) = s"$folder/${a.name}"
  private def kept(in: String, o: Old) = s"$in/_old_${o.index}"
  private def hidden(in: String, a: New) = s"$in/${a.hidden}"

  /** Where the run's token is: it moves in this order, and so it is looked for. */
  def token: Program[Token.Value] = {
    val places = Seq(
      s"$own/_waiting" -> Token.Waiting,
      shown -> Token.Publishing,
      s"$own/_finished" -> Token.Over,
      s"$own/_conflict" -> Token.Conflict,
      s"$closed/_conflict" -> Token.Conflict)
    first(places) { case (path, t) => exists(path).map(if (_) Some(t) else None) }
      .map(_.getOrElse(Token.Gone))
  }

  /** A replaced file is hidden, and the token is gone: nobody knows whether the folder was overwritten. */
  def isInDoubt: Program[Boolean] =
    if (fault == Fault.GuessOverwritten) Finished(false)
    else token.flatMap {
      case Token.Gone => for {
          hides <- any(if (fault == Fault.DoubtInOwn) Seq(own) else Seq(own, closed))(d =>
            look("hides replaced?")(now => change.old.exists(o => now.get(kept(d, o)).isDefined)))
          again <- token
        } yield hides && again == Token.Gone
      case _ => Finished(false)
    }

  /** The token is gone, and every replaced file has its name. */
  def isUntouched: Program[Boolean] = token.flatMap {
    case Token.Gone => exists(own).flatMap(there =>
        if (!there || fault == Fault.GuessOverwritten) Finished(false)
        else look("untouched?")(d =>
          change.old.nonEmpty && change.old.forall(o => d.rows(original(o)).contains(o.content))))
    case _ => Finished(false)
  }

  /** Whether the run has a directory there. */
  def isThere: Program[Boolean] =
    exists(own).flatMap(if (_) Finished(true) else exists(closed))

  /** ABANDON says that nobody has overwritten the folder. */
  def putConflict: Program[Unit] = exists(own).flatMap { there =>
    Program.change("put conflict")(d =>
      d.put(
        s"${if (there) own else closed}/_conflict",
        io.sparkzorder.protocol.Text("")).getOrElse(d))
  }

  def hideAgain: Program[Unit] = each(change.added) { a =>
    content(visible(a)).flatMap(c =>
      if (c.contains(a.content)) move(visible(a), hidden(own, a)) else Finished(false))
  }.map(_ => ())

  /** What somebody did to an input since the commit, if anything. */
  def changedInput: Program[Option[String]] = first(change.old) { o =>
    content(original(o)).flatMap {
      case Some(c) if c == o.content => Finished(None)
      case now => keptAs(o, now)
    }
  }

  def missingNew: Program[Option[String]] = first(change.added) { a =>
    exists(hidden(own, a)).flatMap {
      case true => Finished(None)
      case false => exists(visible(a)).map(if (_) None else Some("new file missing"))
    }
  }

  val isRevealing: Program[Boolean] = any(change.added)(a => exists(visible(a)))

  def showToken: Program[Boolean] =
    if (fault == Fault.NoToken) Finished(true) else move(s"$own/_waiting", shown)

  val hasToken: Program[Boolean] =
    if (fault == Fault.NoToken) Finished(true) else exists(shown)

  def hide: Program[Option[String]] = first(change.old) { o =>
    for {
      before <- content(original(o))
      _ <- if (before.contains(o.content)) move(original(o), kept(own, o)) else Finished(false)
      problem <- keptAs(o, before)
    } yield problem
  }

  /** None when every new file that is there is visible, else why it stopped. */
  def reveal: Program[Option[String]] = first(change.added) { a =>
    hasToken.flatMap {
      case false => Finished(Some("token gone"))
      case true =>
        for {
          _ <- move(hidden(own, a), visible(a))
          still <- hasToken
        } yield if (still) None else Some("token gone")
    }
  }

  /**
   * True when somebody has removed a new file that was visible, or is about to be. The others stay: old
   * files that come back would double what that somebody wrote instead.
   */
  val lostNew: Program[Boolean] = any(change.added)(a => exists(visible(a)).map(!_))

  /** The end of a folder that was published. */
  def finish: Program[Boolean] =
    if (fault == Fault.NoToken) {
      move(s"$own/_waiting", s"$own/_finished").flatMap(_ => Finished(true))
    } else move(shown, s"$own/_finished")

  /** Takes the token for a conflict; nobody can finish the folder after that. */
  def decide: Program[Unit] = move(s"$own/_waiting", s"$own/_conflict").flatMap {
    case true => unit
    case false => move(shown, s"$own/_conflict").map(_ => ())
  }

  /** @param restore whether the replaced files come back: nobody has overwritten the folder */
  def resolve(restore: Boolean): Program[Unit] = {
    val in = if (fault == Fault.OpenDoor) own else closed
    for {
      _ <- if (fault == Fault.OpenDoor) unit else FolderSteps.drain(folder, own, closed, exclusive)
      _ <- each(change.added) { a =>
        content(visible(a)).flatMap(c =>
          if (c.contains(a.content)) move(visible(a), hidden(in, a)) else Finished(false))
      }
      _ <- if (!restore || fault == Fault.NothingBack) unit
      else each(change.old) { o =>
        exists(original(o)).flatMap(if (_) Finished(false) else move(kept(in, o), original(o)))
      }
      // the files that an undo was to bring back stay
      _ <- each(change.added.filter(_.index < New.Kept))(a =>
        Program.change("delete new")(_.delete(hidden(in, a))))
      // of a folder whose overwriter has failed half way: it took our directory, and not this
      _ <- Program.change("delete token")(_.delete(shown))
      _ <- if (fault == Fault.OpenDoor) unit
      else Program.change("delete token and directory") { d =>
        if (d.list(closed).exists(_.forall(n => restore && n == "_conflict" || n == "_change"))) {
          d.deleteTree(closed)
        } else d
      }
    } yield ()
  }

  private def keptAs(o: Old, before: Option[Rows]): Program[Option[String]] =
    content(kept(own, o)).flatMap {
      case Some(c) if c == o.content || fault == Fault.NoLookAfterMove => Finished(None)
      case Some(_) =>
        for {
          there <- exists(original(o))
          _ <- if (there) Finished(false) else move(kept(own, o), original(o))
        } yield Some("overwritten")
      case None => Finished(Some(if (before.isDefined) "overwritten" else "removed"))
    }

  private def exists(path: String): Program[Boolean] =
    look("exists")(d => d.get(path).isDefined || d.directories(path))

  private def content(path: String): Program[Option[Rows]] = look("status")(_.rows(path))

  private def move(from: String, to: String): Program[Boolean] =
    FolderSteps.move(from, to, exclusive)
}

object FolderSteps {

  def move(from: String, to: String, exclusive: Boolean): Program[Boolean] =
    step(s"rename ${from.split('/').last} to ${to.split('/').last}")(d =>
      if (exclusive && d.get(to).isDefined) (d, false)
      else d.rename(from, to).map(_ -> true).getOrElse(d -> false))

  /**
   * Empties a directory of a folder into another one and removes it; others may put files into it until then.
   *
   * @param at all that what comes after depends on. Two actors may move the same files to and fro
   */
  def drain(
      folder: String,
      from: String,
      to: String,
      exclusive: Boolean,
      at: Option[Any] = None): Program[Unit] = {
    def round = look("list own")(_.list(from)).flatMap {
      case None => unit
      case Some(names) =>
        for {
          _ <- Program.change("make closed")(d =>
            if (d.directories(folder)) d.makeDirectories(to) else d)
          _ <- each(names)(n => move(s"$from/$n", s"$to/$n", exclusive))
          removed <- step("remove own")(d =>
            d.removeDirectory(from).map(_ -> true).getOrElse(d -> false))
          there <- look("closed there?")(_.directories(to))
          _ <- if (removed || !there) unit else drain(folder, from, to, exclusive, at)
        } yield ()
    }
    at.fold(round)(label => Forget((label, from, to), round))
  }
}
