// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.protocol.folder

import io.sparkzorder.protocol.{Failed, Finished, Forget, Program}
import io.sparkzorder.protocol.Program._

/** Publishes a run, folder by folder. */
final class PublishModel(log: LogModel, fault: Fault.Value, exclusive: Boolean) {

  private val places = new PlacesModel(fault)

  def publish(n: Int, run: Run, outer: Any): Program[Unit] =
    inEachFolder(n, run, outer)((change, at) => folder(n, run, change, at))

  private def inEachFolder(n: Int, run: Run, outer: Any)(
      work: (Change, Any) => Program[Option[String]]): Program[Unit] = {
    def folders(
        left: List[(Change, Option[Change])],
        problems: List[String]): Program[List[String]] = left match {
      case Nil => Finished(problems)
      case place :: rest =>
        val at = (n, run, place, problems, rest, outer)
        Forget(
          at,
          for {
            problem <- atPlace(n, run, place, at, PublishModel.Moves)(work)
            all <- folders(rest, problems ++ problem)
          } yield all)
    }
    places.of(run).flatMap(all => folders(all.toList, Nil)).flatMap(problems =>
      Forget((n, run, problems, outer), finish(n, run, problems)))
  }

  /** Works on a folder where it is; when it was moved meanwhile, once more there. */
  private def atPlace(
      n: Int,
      run: Run,
      place: (Change, Option[Change]),
      at: Any,
      left: Int)(work: (Change, Any) => Program[Option[String]]): Program[Option[String]] =
    require(n, run).flatMap(_ =>
      place._2 match {
        case None => log.markConflict(n).map(_ => Some("another directory has its name"))
        case Some(now) =>
          work(now, (at, now.folder)).flatMap { result =>
            if (result.isEmpty || left == 0) notAway(n, run, now, result)
            else new FolderSteps(fault, exclusive, run.id, now).isThere.flatMap {
              if (_) notAway(n, run, now, result)
              else Forget((at, now.folder, result, "moved?", left), places.of(run)).flatMap { all =>
                all.find(_._1 == place._1).filter(_._2.exists(_.folder != now.folder)) match {
                  case Some(other) =>
                    Forget((at, other, left), atPlace(n, run, other, at, left - 1)(work))
                  case None => notAway(n, run, now, result)
                }
              }
            }
          }
      })

  /** Nothing of the run is in the folder, and the run is nowhere else. */
  private def notAway(
      n: Int,
      run: Run,
      change: Change,
      problem: Option[String]): Program[Option[String]] =
    if (problem.exists(_.startsWith(PublishModel.Away))) {
      ended(n, run, new FolderSteps(fault, exclusive, run.id, change), restore = false)
        .map(_ => problem)
    } else Finished(problem)

  private def ended(n: Int, run: Run, steps: FolderSteps, restore: Boolean): Program[Unit] = for {
    _ <- require(n, run)
    _ <- log.markConflict(n)
    _ <- steps.resolve(restore)
  } yield ()

  private def finish(n: Int, run: Run, problems: List[String]): Program[Unit] = for {
    _ <- require(n, run)
    _ <- problems.find(_.startsWith(PublishModel.InDoubt)).map(Failed(_)).getOrElse(unit)
    _ <- change("delete intent")(_.delete(At.intent(run.id)))
    _ <- log.markDone(n, run.id)
    _ <- if (problems.isEmpty) unit else Failed(s"ZORDER_PUBLISH_CONFLICT ${problems.head}")
  } yield ()

  def rollForward(outer: Any): Program[Unit] = {
    def publishAll(runs: List[(Int, Run)]): Program[Unit] = runs match {
      case Nil => unit
      case (n, run) :: rest => publish(n, run, (rest, outer)).flatMap(_ => publishAll(rest))
    }
    log.unfinished.flatMap(runs => publishAll(runs.toList))
  }

  /** RECOVER LAYOUT ... ABANDON: what is not finished goes back to its inputs. */
  def abandon: Program[Unit] = log.unfinished.flatMap(runs =>
    each(runs) { case (n, run) =>
      inEachFolder(n, run, "abandon") { (c, at) =>
        val steps = new FolderSteps(fault, exclusive, run.id, c)
        for {
          doubt <- steps.isInDoubt
          _ <- if (doubt) steps.putConflict else unit
          token <- steps.token
          problem <- if (token == Token.Over) Finished(None)
          else conflict(n, run, steps, (at, "abandon"), "abandoned")
        } yield problem
      }.attempt.flatMap {
        // a conflict is what ABANDON wants
        case Left(e) if !e.contains("PUBLISH_CONFLICT") => Failed(e)
        case _ => unit
      }
    }.map(_ => ()))

  private def require(n: Int, run: Run): Program[Unit] =
    log.holds(n, run.id).flatMap(if (_) unit else Failed("ZORDER_STATE_LOST"))

  private def folder(n: Int, run: Run, change: Change, at: Any): Program[Option[String]] = {
    val steps = new FolderSteps(fault, exclusive, run.id, change)
    def stage(name: String)(p: => Program[Option[String]]) = Forget((at, name), p)
    def problem(what: String) = conflict(n, run, steps, at, what)
    def forward: Program[Option[String]] = stage("reveal")(steps.reveal.flatMap {
      case Some(p) => stage("doubt")(for {
          doubt <- steps.isInDoubt
          _ <- if (doubt) steps.hideAgain else unit
          result <- problem(p)
        } yield result)
      case None => stage("finish")(for {
          lacks <- steps.lostNew.flatMap(if (_) steps.isThere else Finished(false))
          // kept files of a conflict never expire
          _ <- if (lacks) log.markConflict(n) else unit
          finished <- steps.finish
          result <- if (finished) Finished(None) else problem("token gone")
        } yield result)
    })
    def exchange: Program[Option[String]] = stage("inputs") {
      orElse(steps.changedInput)(stage("new")(steps.missingNew)).flatMap {
        case Some(p) => problem(p)
        case None => stage("token")(steps.showToken.flatMap { _ =>
            if (fault == Fault.NewBeforeOld) forward
            else stage("hide")(steps.hide.flatMap {
              case Some(p) => problem(p)
              case None => stage("all new")(steps.missingNew.flatMap {
                  case Some(p) => problem(p)
                  case None => forward
                })
            })
          })
      }
    }
    steps.token.flatMap {
      case Token.Over => Finished(None)
      case Token.Conflict | Token.Gone => problem("met before")
      case Token.Publishing =>
        stage("revealing?")(steps.isRevealing.flatMap(if (_) forward else exchange))
      case _ => exchange
    }
  }

  private def conflict(
      n: Int,
      run: Run,
      steps: FolderSteps,
      at: Any,
      what: String): Program[Option[String]] =
    Forget(
      (at, what, "decide"),
      for {
        _ <- steps.decide
        untouched <- steps.isUntouched
        _ <- if (untouched) steps.putConflict else unit
        token <- steps.token
        done <- log.isDone(n)
        doubt <- if (token == Token.Gone && !done) steps.isInDoubt else Finished(false)
        late <- if (token == Token.Gone && !doubt && fault != Fault.GuessOverwritten) steps.token
        else Finished(token)
        result <- if (late != token) conflict(n, run, steps, at, what)
        else if (token == Token.Over || done) Finished(None)
        else if (doubt) Finished(Some(s"${PublishModel.InDoubt} $what"))
        else
          Forget(
            (at, what, token),
            (if (token == Token.Gone) steps.isThere else Finished(true)).flatMap {
              if (_) ended(n, run, steps, token == Token.Conflict).map(_ => Some(what))
              else Finished(Some(s"${PublishModel.Away} $what"))
            })
      } yield result)
}

private object PublishModel {
  val InDoubt = "ZORDER_FOLDER_IN_DOUBT"
  val Away = "nothing of the run is there:"

  /** How often a folder may be moved while it is published. */
  val Moves = 2
}
