package io.sparkzorder.protocol

import io.sparkzorder.protocol.Program._

/** Counterpart of [[io.sparkzorder.log.Publisher]]. */
final class PublisherModel(state: StateModel, variant: Variant.Value) {
  private val marked = new MarkerPublisher(state, variant == Variant.MarkerIgnored)

  /**
   * Publisher.publish
   *
   * @param outer all that comes after it depends on, for [[Forget]]
   */
  def publish(n: Int, record: ModelRecord, outer: Any): Program[Unit] = {
    def folders(left: List[ModelChange], problems: List[String]): Program[List[String]] =
      left match {
        case Nil => Finished(problems)
        case change :: rest =>
          val at = (n, record, change.folder, problems, outer)
          Forget(
            at,
            for {
              _ <- requireState(n, record)
              problem <- publishFolder(n, record, change, at)
              all <- folders(rest, problems ++ problem)
            } yield all)
      }
    for {
      problems <- folders(record.changes.toList, Nil)
      _ <- Forget((n, record, problems, outer), finish(n, record, problems))
    } yield ()
  }

  /** The end of Publisher.publish */
  def finish(n: Int, record: ModelRecord, problems: List[String]): Program[Unit] =
    for {
      _ <- requireState(n, record)
      _ <- if (problems.nonEmpty && straight) state.markConflict(n) else unit
      _ <- change("Publisher.delete")(_.deleteTree(Places.staging(record.run)))
      _ <- state.markDone(n, record.run)
      _ <- if (problems.isEmpty) unit else Failed(s"ZORDER_PUBLISH_CONFLICT ${problems.head}")
    } yield ()

  /** Publisher.rollForward */
  def rollForward(outer: Any): Program[Unit] = {
    def publishAll(runs: List[(Int, ModelRecord)]): Program[Unit] = runs match {
      case Nil => unit
      case (n, record) :: rest => publish(n, record, (rest, outer)).flatMap(_ => publishAll(rest))
    }
    state.unfinished.flatMap(runs => publishAll(runs.toList))
  }

  private val straight = variant == Variant.StagedStraightIn || variant == Variant.MarkerIgnored

  private def requireState(n: Int, record: ModelRecord): Program[Unit] =
    state.holds(n, record.run).flatMap(if (_) unit else Failed("ZORDER_STATE_LOST"))

  private def publishFolder(
      n: Int,
      record: ModelRecord,
      change: ModelChange,
      at: Any): Program[Option[String]] =
    if (straight) marked.publishFolder(record.run, change)
    else {
      val files = new FolderModel(state, variant, record.run, change)
      def discard(problem: String): Program[Option[String]] = for {
        _ <- Forget((at, problem), requireState(n, record))
        _ <- if (straight) unit else state.markConflict(n)
        in <- files.isComingIn
        _ <- if (in || variant == Variant.NothingBack) unit else files.putBack
        _ <- files.discardNew
      } yield Some(problem)
      for {
        published <- files.isPublished
        problem <- if (published) Finished(None) else exchange(n, record, files, at)
        result <- problem match {
          case None => Finished(None)
          case Some(p) =>
            Forget((at, p, "done?"), state.isDone(n))
              .flatMap(if (_) Finished(None) else discard(p))
        }
      } yield result
    }

  private def exchange(
      n: Int,
      record: ModelRecord,
      files: FolderModel,
      at: Any): Program[Option[String]] = {
    def stage(name: String)(p: => Program[Option[String]]) = Forget((at, name), p)
    files.isComingIn.flatMap {
      case true =>
        orElse(stage("coming in")(files.missingNew))(stage("still coming in")(files.bringIn))
      case false =>
        orElse(stage("inputs")(files.changedInput)) {
          orElse(stage("enter")(files.enter)) {
            orElse(stage("new")(files.missingNew)) {
              if (variant == Variant.NewBeforeOld) {
                orElse(stage("in")(files.bringIn))(stage("out")(takeOut(n, record, files)))
              } else orElse(stage("out")(takeOut(n, record, files)))(stage("in")(files.bringIn))
            }
          }
        }
    }
  }

  /** Publisher.takeOut */
  private def takeOut(
      n: Int,
      record: ModelRecord,
      files: FolderModel): Program[Option[String]] =
    files.canRetain.flatMap {
      case true => files.takeOut
      case false =>
        for {
          _ <- requireState(n, record)
          _ <- change("Publisher.mkdirs")(_.makeDirectories(Places.retention(record.run)))
          problem <- files.takeOut
        } yield problem
    }
}

/**
 * How folders were published in the first version: the new files went straight from `_staged` to their
 * names, and a marker in the folder told a later recovery that nobody had overwritten it. A publisher
 * that is late, or that has looked at the marker just before, brings rows back.
 */
final class MarkerPublisher(state: StateModel, ignoreMarker: Boolean) {

  def publishFolder(run: String, c: ModelChange): Program[Option[String]] = {
    val marker = s"${c.folder}/_zorder_publishing_$run"
    def staged(a: ModelAdded) = s"${Places.staging(run)}/${a.staged}"
    def retained(r: ModelReplaced) = s"${Places.retention(run)}/${r.retained}"
    def original(r: ModelReplaced) = s"${c.folder}/${r.name}"
    def visible(a: ModelAdded) = s"${c.folder}/${a.name}"
    val left = any(c.added)(a => state.exists(staged(a)))
    def isSame(r: ModelReplaced) =
      look("Publisher.isSame")(_.rows(original(r)).contains(r.content))
    def move(from: String, to: String) =
      change("Publisher.move")(d => d.rename(from, to).getOrElse(d))
    def changed: Program[Option[String]] = first(c.replaced) { r =>
      isSame(r).flatMap {
        case true => Finished(None)
        case false => state.exists(retained(r)).map(if (_) None else Some("removed"))
      }
    }
    def conflict: Program[Option[String]] = for {
      begun <- any(c.replaced)(r => state.exists(retained(r)))
      someIn <- any(c.added)(a => state.exists(visible(a)))
      there <- if (begun && !ignoreMarker) state.exists(marker) else Finished(true)
      still <- if (there) Finished(false) else left
      problem <- if (still) Finished(Some("overwritten"))
      else if (someIn) Finished(None)
      else changed
    } yield problem
    def exchange: Program[Unit] = for {
      _ <- change("Publisher.mkdirs")(_.makeDirectories(Places.retention(run)))
      _ <- change("Publisher.marker")(d => d.put(marker, Text("")).getOrElse(d))
      _ <- each(c.replaced)(r =>
        isSame(r).flatMap(if (_) move(original(r), retained(r)) else unit))
      _ <- each(c.added)(a => move(staged(a), visible(a)))
      _ <- change("Publisher.unmark")(_.delete(marker))
    } yield ()
    left.flatMap {
      case false => change("Publisher.unmark")(_.delete(marker)).map(_ => None)
      case true => conflict.flatMap {
          case None => exchange.map(_ => None)
          case problem =>
            each(c.added)(a => change("Publisher.discard")(_.delete(staged(a)))).map(_ => problem)
        }
    }
  }
}
