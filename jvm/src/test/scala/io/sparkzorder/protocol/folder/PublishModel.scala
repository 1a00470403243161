package io.sparkzorder.protocol.folder

import io.sparkzorder.protocol.{Failed, Finished, Forget, Program}
import io.sparkzorder.protocol.Program._

/** Publishes a run, folder by folder. */
final class PublishModel(log: LogModel, fault: Fault.Value, exclusive: Boolean) {

  def publish(n: Int, run: Run, outer: Any): Program[Unit] = {
    def folders(left: List[Change], problems: List[String]): Program[List[String]] = left match {
      case Nil => Finished(problems)
      case change :: rest =>
        val at = (n, run, change.folder, problems, outer)
        Forget(
          at,
          for {
            _ <- require(n, run)
            problem <- folder(n, run, change, at)
            all <- folders(rest, problems ++ problem)
          } yield all)
    }
    folders(run.changes.toList, Nil).flatMap(problems =>
      Forget((n, run, problems, outer), finish(n, run, problems)))
  }

  private def finish(n: Int, run: Run, problems: List[String]): Program[Unit] = for {
    _ <- require(n, run)
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
      for {
        _ <- each(run.changes) { c =>
          val steps = new FolderSteps(fault, exclusive, run.id, c)
          for {
            _ <- require(n, run)
            token <- steps.token
            _ <- if (token == Token.Over) unit
            else conflict(n, run, steps, (n, run, c.folder, "abandon"), "abandoned")
          } yield ()
        }
        _ <- Forget((n, run, "abandoned"), finish(n, run, Nil))
      } yield ()
    }.map(_ => ()))

  private def require(n: Int, run: Run): Program[Unit] =
    log.holds(n, run.id).flatMap(if (_) unit else Failed("ZORDER_STATE_LOST"))

  private def folder(n: Int, run: Run, change: Change, at: Any): Program[Option[String]] = {
    val steps = new FolderSteps(fault, exclusive, run.id, change)
    def stage(name: String)(p: => Program[Option[String]]) = Forget((at, name), p)
    def problem(what: String) = conflict(n, run, steps, at, what)
    def forward: Program[Option[String]] = stage("reveal")(steps.reveal.flatMap {
      case Some(p) => problem(p)
      case None => stage("finish")(for {
          lacks <- steps.lacksNew
          // kept files of a conflict never expire
          _ <- if (lacks) log.markConflict(n) else unit
          finished <- steps.finish
          result <- if (finished) Finished(None) else problem("canary gone")
        } yield result)
    })
    def exchange: Program[Option[String]] = stage("inputs") {
      orElse(steps.changedInput)(stage("new")(steps.missingNew)).flatMap {
        case Some(p) => problem(p)
        case None => stage("canary")(steps.showCanary.flatMap { _ =>
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
        token <- steps.token
        done <- log.isDone(n)
        result <- if (token == Token.Over || done) Finished(None)
        else
          Forget(
            (at, what, token),
            for {
              _ <- require(n, run)
              _ <- log.markConflict(n)
              _ <- steps.resolve(token == Token.Conflict || fault == Fault.BackUnseen)
            } yield Some(what))
      } yield result)
}
