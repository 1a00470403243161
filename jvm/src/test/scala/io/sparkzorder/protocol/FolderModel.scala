package io.sparkzorder.protocol

import io.sparkzorder.protocol.Program._

/** Counterpart of [[io.sparkzorder.log.FolderFiles]], method by method. */
final class FolderModel(
    state: StateModel,
    variant: Variant.Value,
    run: String,
    change: ModelChange) {
  private def staged(a: ModelAdded) = s"${Places.staging(run)}/${a.staged}"
  private def waiting(a: ModelAdded) = Places.waiting(run, change.folder, a)
  private def visible(a: ModelAdded) = s"${change.folder}/${a.name}"
  private def original(r: ModelReplaced) = s"${change.folder}/${r.name}"
  private def retained(r: ModelReplaced) = s"${Places.retention(run)}/${r.retained}"
  private def back(r: ModelReplaced) = s"${change.folder}/_zorder_${run}_back${r.retained}"

  /** FolderFiles.isPublished */
  def isPublished: Program[Boolean] = all(change.added)(isIn)

  /** FolderFiles.isComingIn */
  def isComingIn: Program[Boolean] = any(change.added)(isIn)

  private def isIn(a: ModelAdded): Program[Boolean] =
    state.exists(visible(a)).flatMap {
      case false => Finished(false)
      case true => state.exists(waiting(a)).flatMap {
          case true => Finished(false)
          case false => state.exists(staged(a)).map(!_)
        }
    }

  val canRetain: Program[Boolean] = state.exists(Places.retention(run))

  /** FolderFiles.changedInput */
  def changedInput: Program[Option[String]] =
    if (variant == Variant.NoRecheck) Finished(None)
    else first(change.replaced) { r =>
      status(original(r)).flatMap { now =>
        if (now.contains(r.content)) Finished(None) else whereIs(r, now)
      }
    }

  /** FolderFiles.enter */
  def enter: Program[Option[String]] = first(change.added) { a =>
    move(staged(a), waiting(a)).flatMap {
      case true => Finished(None)
      case false => state.exists(change.folder).map(if (_) None else Some("it was dropped"))
    }
  }

  /** FolderFiles.missingNew */
  def missingNew: Program[Option[String]] =
    if (variant == Variant.PartialFiles) Finished(None)
    else first(change.added) { a =>
      state.exists(waiting(a)).flatMap {
        case true => Finished(None)
        case false => state.exists(visible(a)).map(if (_) None else Some("overwritten"))
      }
    }

  /** FolderFiles.takeOut */
  def takeOut: Program[Option[String]] = first(change.replaced) { r =>
    for {
      before <- status(original(r))
      _ <- if (before.contains(r.content)) move(original(r), retained(r)) else Finished(false)
      problem <- if (variant == Variant.NoRecheck) Finished(None) else whereIs(r, before)
    } yield problem
  }

  /** FolderFiles.bringIn */
  def bringIn: Program[Option[String]] = first(change.added) { a =>
    move(waiting(a), visible(a)).flatMap {
      case true => Finished(None)
      case false => state.exists(visible(a)).map(if (_) None else Some("overwritten"))
    }
  }

  /** FolderFiles.putBack */
  def putBack: Program[Unit] = for {
    before <- allWait
    _ <- if (before) each(change.replaced)(r => move(retained(r), back(r))) else unit
    whole <- allWait
    _ <- if (!whole) unit
    else each(change.replaced) { r =>
      state.exists(original(r)).flatMap(if (_) Finished(false) else move(back(r), original(r)))
    }
    _ <- each(change.replaced)(r => move(back(r), retained(r)))
  } yield ()

  private def allWait: Program[Boolean] =
    if (variant == Variant.BackUnseen) Finished(true)
    else all(change.added)(a => state.exists(waiting(a)))

  /** FolderFiles.discardNew */
  def discardNew: Program[Unit] = each(change.added) { a =>
    for {
      _ <- Program.change("FolderFiles.discardNew")(_.delete(staged(a)))
      _ <- Program.change("FolderFiles.discardNew")(_.delete(waiting(a)))
    } yield ()
  }.map(_ => ())

  /** FolderFiles.whereIs */
  private def whereIs(r: ModelReplaced, before: Option[Rows]): Program[Option[String]] =
    status(retained(r)).flatMap {
      case Some(c) if c == r.content || variant == Variant.NoLookAfterMove => Finished(None)
      case Some(_) =>
        for {
          there <- state.exists(original(r))
          _ <- if (there) Finished(false) else move(retained(r), original(r))
        } yield Some("overwritten")
      case None => Finished(Some(if (before.isDefined) "overwritten" else "removed"))
    }

  /** FolderFiles.move, FileMove.rename */
  private def move(from: String, to: String): Program[Boolean] =
    step("FileMove.rename")(d => d.rename(from, to).map(_ -> true).getOrElse(d -> false)).flatMap {
      case true => Finished(true)
      case false =>
        for {
          source <- state.exists(from)
          directory <- if (source) state.exists(Disk.parent(to)) else Finished(false)
          moved <- if (directory) Failed(s"IOException: cannot rename") else Finished(false)
        } yield moved
    }

  private def status(path: String): Program[Option[Rows]] = look("getFileStatus")(_.rows(path))
}
