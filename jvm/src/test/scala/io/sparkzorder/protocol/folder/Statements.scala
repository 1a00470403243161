// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.protocol.folder

import io.sparkzorder.protocol.{Disk, Failed, Finished, Forget, Program, Rows, Text}
import io.sparkzorder.protocol.Program._

final case class Listed(folder: String, name: String, content: Rows)

/** Statements of ours: OPTIMIZE, RECOVER, ABANDON, UNDO, VACUUM and INTO. */
final class Statements(fault: Fault.Value, exclusive: Boolean = false) {
  private val log = new LogModel
  val reader = new Reader(fault)
  private val publisher = new PublishModel(log, fault, exclusive)

  def recover: Program[Unit] = publisher.rollForward("recover")

  def abandon: Program[Unit] = publisher.abandon

  def optimize(id: String): Program[String] = listed.flatMap { case (last, files) =>
    disagreement(files).flatMap { returned =>
      if (files.isEmpty) Finished("nothing to do")
      else if (returned.isDefined && fault != Fault.MergeReturned) Failed(returned.get)
      else rewrite(Statements.runOf(id, files), Some(files), last)
    }
  }

  /**
   * OPTIMIZE of a folder in two passes, where each input is a batch of the first pass, and each region one of the
   * second. It goes on with what an earlier statement has dealt. Plans are no part of the model: they advise where
   * rows are placed, and here a row has its place in a file.
   */
  def optimizeInTwoPasses(id: String): Program[String] = listed.flatMap { case (last, files) =>
    val isSecond = files.exists(f => Statements.isFinal(f.name))
    val inputs = if (isSecond) Nil else files.filterNot(f => Statements.isDealt(f.name))
    val deals = inputs.zipWithIndex.map { case (f, i) =>
      Statements.runOf(s"$id.d$i", Seq(f)) -> Seq(f)
    }
    batches(deals.toList, last, None).flatMap { failed =>
      if (failed.isDefined) Failed(failed.get)
      else listed.within("second pass").flatMap { case (now, dealt) =>
        val regions = dealt.filter(f => Statements.isDealt(f.name))
          .groupBy(f => f.name.split('-').last).toSeq.sortBy(_._1)
        val gathers = regions.map { case (r, own) => Statements.runOf(s"$id.g$r", own) -> own }
        batches(gathers.toList, now, None).flatMap(_.fold[Program[String]](Finished("done"))(
          Failed(_)))
      }
    }
  }

  private def listed: Program[(Int, Seq[Listed])] = for {
    earlier <- log.numbers
    last = earlier.lastOption.getOrElse(0)
    _ <- publisher.rollForward(("list", last))
    files <- Forget(("list", last), list)
  } yield (last, files)

  /** A conflict ends one batch, and the others are done. */
  private def batches(
      todo: List[(Run, Seq[Listed])],
      last: Int,
      failed: Option[String]): Program[Option[String]] = todo match {
    case Nil => Finished(failed)
    case (run, files) :: rest =>
      val context = ("batches", todo, last, failed)
      Forget(context, rewrite(run, Some(files), last).within(context).attempt).flatMap {
        case Right(_) => batches(rest, last, failed)
        case Left(e) if e.startsWith("ZORDER_CONFLICT") =>
          batches(rest, last, failed.orElse(Some(e)))
        case Left(e) => Failed(e)
      }
  }

  /**
   * A listed file that has the name of a file that a published run replaced, while a file of that run is listed
   * in the folder.
   */
  private def disagreement(files: Seq[Listed]): Program[Option[String]] = log.all.flatMap { all =>
    val runs = all.collect { case (n, r, true) if !r.aborts => n -> r.run }
    each(runs) { case (n, run) => look("conflict?")(_.get(At.conflict(n)).isDefined).map(run -> _) }
      .map { marked =>
        val settled = marked.collect { case (run, false) => run }
        val back = settled.flatMap(_.undone).toSet
        settled.filterNot(r => back(r.id)).flatMap(_.changes).collectFirst {
          case c
              if c.added.exists(a => files.exists(f => f.folder == c.folder && f.name == a.name)) &&
                c.old.exists(o => files.exists(f => f.folder == c.folder && f.name == o.name)) =>
            s"${Statements.Named} in ${c.folder}"
        }
      }
  }

  private def rewrite(run: Run, files: Option[Seq[Listed]], last: Int): Program[String] =
    Forget(
      ("batch", last, run, files),
      work(run, files, last).attempt.flatMap {
        case Right(result) => Finished(result)
        case Left(error) =>
          Forget(("failed", run, error), committed(run.id)).flatMap {
            if (_) Failed(error)
            else discard(run).flatMap(_ => Failed(error))
          }
      })

  private def work(run: Run, files: Option[Seq[Listed]], last: Int): Program[String] = for {
    _ <- note(run)
    _ <- write(run)
    n <- commit(run, files, last)
    _ <- Forget(("publish", n, run), publisher.publish(n, run, "rewriter"))
  } yield "done"

  /** The intent, before anything is made in a folder. */
  private def note(run: Run): Program[Unit] = change("note intent") { d =>
    val made = d.makeDirectories(At.commits).makeDirectories(At.runs)
    val undone = run.undone.map("|" + _).getOrElse("")
    made.put(At.intent(run.id), Text(run.changes.map(_.folder).mkString(",") + undone)).get
  }

  /** One step: nobody but a clean-up looks at the files of a run that is not committed. */
  private def write(run: Run): Program[Unit] = change("write files") { d =>
    run.changes.foldLeft(d) { (now, c) =>
      val own = At.own(c.folder, run.id)
      if (!now.directories(c.folder)) now
      else {
        val made = now.makeDirectories(own).put(s"$own/_waiting", Text("")).get
          .put(At.copy(c.folder, run.id), Text(c.folder)).get
        c.added.foldLeft(made)((m, a) => m.put(s"$own/_new_${a.index}", a.content).get)
      }
    }
  }

  private def commit(run: Run, files: Option[Seq[Listed]], after: Int): Program[Int] = {
    def attempt(checkedTo: Int): Program[Int] = Forget(
      ("commit", run, files, checkedTo),
      for {
        numbers <- log.numbers
        newer = numbers.filter(_ > checkedTo)
        _ <- each(newer)(n => log.read(n).flatMap(check(_, run)))
        _ <- files.map(recheck).getOrElse(unit)
        whole <- look("files written?")(d =>
          d.get(At.intent(run.id)).isDefined && run.changes.forall { c =>
            val own = At.own(c.folder, run.id)
            d.get(s"$own/_waiting").isDefined &&
            c.added.forall(a => d.get(s"$own/${a.hidden}").isDefined)
          })
        _ <- if (whole) unit else Failed("ZORDER_CONFLICT files of this run were removed")
        last = newer.lastOption.getOrElse(checkedTo)
        won <- Forget(
          ("create", run, files, last),
          log.create(last + 1, Numbered(run, aborts = false)))
        n <- if (won) Finished(last + 1) else attempt(last)
      } yield n)
    attempt(after)
  }

  private def check(other: Numbered, run: Run): Program[Unit] = {
    def inputs(r: Run) = r.changes.flatMap(c => c.old.map(f => c.folder -> f.name)).toSet
    def outputs(r: Run) = r.changes.flatMap(c => c.added.map(f => c.folder -> f.name)).toSet
    if (other.aborts) {
      if (other.run.id == run.id) Failed("ZORDER_CONFLICT declared dead") else unit
    } else if ((inputs(other.run) ++ outputs(other.run)).intersect(inputs(run)).isEmpty) unit
    else Failed(s"ZORDER_CONFLICT run ${other.run.id} has replaced or added a file")
  }

  private def recheck(files: Seq[Listed]): Program[Unit] = list.flatMap { now =>
    if (files.forall(now.contains)) unit else Failed("ZORDER_CONFLICT an input has changed")
  }

  private def committed(id: String): Program[Boolean] =
    log.all.attempt.map(_.fold(_ => true, _.exists(r => r._2.run.id == id && !r._2.aborts)))

  private def discard(run: Run): Program[Unit] = for {
    _ <- each(run.changes)(c => change("discard")(removeOwn(_, c.folder, run.id)))
    _ <- change("discard intent")(_.delete(At.intent(run.id)))
  } yield ()

  /** Replaced files stay: a run that has some was committed, and somebody has deleted its record. */
  private def removeOwn(d: Disk, folder: String, run: String): Disk = {
    val own = At.own(folder, run)
    val left = d.list(own).getOrElse(Nil)
    if (fault != Fault.DiscardAll && left.exists(_.startsWith("_old_"))) {
      left.filterNot(n => n.startsWith("_old_") || n == "_change")
        .foldLeft(d)((now, n) => now.delete(s"$own/$n"))
    } else d.deleteTree(own)
  }

  /** VACUUM: what a run left that did not commit, after a record that it must not commit any more. */
  def vacuum: Program[Unit] = for {
    found <- intents
    _ <- each(found)(i => Forget(("clean", i, found), clean(i, found)))
  } yield ()

  private case class Noted(id: String, folders: Seq[String], undone: Option[String])

  private val intents: Program[Seq[Noted]] = look("list intents")(d =>
    d.list(At.runs).getOrElse(Nil).flatMap(n =>
      d.get(s"${At.runs}/$n").collect { case Text(text) =>
        val (folders, undone) = text.span(_ != '|')
        Noted(n.drop(1), folders.split(',').toSeq, Some(undone.drop(1)).filter(_.nonEmpty))
      }))

  /** VACUUM with every retention over: the replaced files of runs that are done without a conflict. */
  def expire: Program[Unit] = for {
    all <- log.all
    noted <- intents
    committed = all.map(_._2.run.id).toSet
    claimed = noted.filterNot(i => committed(i.id)).flatMap(_.undone).toSet
    _ <- removeProven(all.collect {
      case (n, r, true) if !r.aborts && !claimed(r.run.id) => n -> r.run
    })
  } yield ()

  private def removeProven(runs: Seq[(Int, Run)]): Program[Unit] =
    each(runs) { case (n, run) =>
      look("conflict?")(_.get(At.conflict(n)).isDefined).flatMap {
        if (_) unit
        else each(run.changes) { c =>
          look("proven?")(d =>
            c.added.forall(a => d.rows(s"${c.folder}/${a.name}").contains(a.content))).flatMap {
            p =>
              if (p) {
                change("expire")(_.deleteTree(At.own(c.folder, run.id))
                  .deleteTree(At.closed(c.folder, run.id)))
              } else unit
          }
        }.map(_ => ())
      }
    }.map(_ => ())

  private def clean(i: Noted, found: Seq[Noted]): Program[Unit] = log.all.flatMap { all =>
    val last = all.lastOption.map(_._1).getOrElse(0)
    def remove = i.undone match {
      case Some(undone) => giveBack(i, undone, ("clean", i, found))
      case None => for {
          _ <- each(i.folders)(f => change("clean")(removeOwn(_, f, i.id)))
          _ <- change("clean intent")(_.delete(At.intent(i.id)))
        } yield ()
    }
    if (all.exists(r => !r._2.aborts && r._2.run.id == i.id)) unit
    else hasReplaced(i).flatMap { replaced =>
      if (replaced) unit
      else if (all.exists(r => r._2.aborts && r._2.run.id == i.id) || fault == Fault.CleanUnseen)
        remove
      else log.create(last + 1, Numbered(Run(i.id, Nil), aborts = true)).flatMap {
        if (_) log.markDone(last + 1, i.id).flatMap(_ => remove) else clean(i, found)
      }
    }
  }

  /** An undo without a record that has replaced a file was committed, and somebody has removed its record. */
  private def hasReplaced(i: Noted): Program[Boolean] =
    if (i.undone.isEmpty || fault == Fault.GiveAllBack) Finished(false)
    else any(i.folders.flatMap(f => Seq(At.own(f, i.id), At.closed(f, i.id))))(d =>
      look("replaced?")(_.list(d).exists(_.exists(Old.isOfUndo))))

  /** The files that an undo has claimed go where no late publisher takes files from. */
  private def giveBack(undo: Noted, undone: String, at: Any): Program[Unit] = for {
    _ <- each(undo.folders)(f => giveBackIn(f, undo.id, undone, (at, f)))
    _ <- change("intent of the undone") { d =>
      val isKept =
        undo.folders.exists(f => Seq(At.own(f, undone), At.closed(f, undone)).exists(d.directories))
      if (!d.directories(At.commits) || !isKept) d
      else d.put(At.intent(undone), Text(undo.folders.mkString(","))).getOrElse(d)
    }
    _ <- change("clean intent")(_.delete(At.intent(undo.id)))
  } yield ()

  private def giveBackIn(
      folder: String,
      undo: String,
      undone: String,
      at: Any): Program[Unit] = {
    val (own, closed) = (At.own(folder, undo), At.closed(folder, undone))
    def rename(from: String) = FolderSteps.move(from, s"$own/_finished", exclusive)
    for {
      _ <- rename(s"$own/_waiting")
      _ <- rename(At.token(folder, undo))
      _ <- FolderSteps.drain(folder, own, closed, exclusive, Some(at))
      _ <- change("remove closed")(d => d.removeDirectory(closed).getOrElse(d))
      more <- look("more?")(_.list(own).exists(_.nonEmpty))
      _ <- if (more) Forget((at, "more"), giveBackIn(folder, undo, undone, at)) else unit
    } yield ()
  }

  /** INTO: lists after rolling forward, copies, and looks whether a run committed meanwhile. */
  def into: Program[Seq[String]] = for {
    before <- log.numbers
    _ <- publisher.rollForward(("into", before))
    files <- Forget(("into", before), list)
    rows <- each(files)(f =>
      look("copy")(_.rows(s"${f.folder}/${f.name}")).flatMap {
        case Some(c) if c == f.content => Finished(c.rows)
        case _ => Failed("FileNotFoundException")
      })
    after <- log.all
    _ <- if (after.exists(r => !before.contains(r._1) && !r._2.aborts)) Failed("ZORDER_CONFLICT")
    else unit
  } yield rows.flatten

  /** UNDO of the only run: its files go into the directory of the undo, and the kept ones come back. */
  def undo(id: String): Program[String] = for {
    _ <- publisher.rollForward("undo")
    all <- Forget("undo", log.all)
    result <- all.reverse.collectFirst { case (n, r, true) if !r.aborts => n -> r.run } match {
      case Some((n, run)) if run.undone.isEmpty =>
        look("conflict?")(_.get(At.conflict(n)).isDefined).flatMap(
          if (_) Failed("ZORDER_UNDO_REFUSED") else undoOf(id, run, all.last._1))
      case _ => Finished("nothing to undo")
    }
  } yield result

  private def undoOf(id: String, run: Run, last: Int): Program[String] = {
    val record = Run(
      id,
      run.changes.map(c =>
        Change(
          c.folder,
          c.added.zipWithIndex.map { case (a, i) => Old(i + Old.ByUndo, a.name, a.content) },
          c.old.map(o => New(o.index + New.Kept, o.name, o.content)))),
      Some(run.id))
    val files = record.changes.flatMap(c => c.old.map(o => Listed(c.folder, o.name, o.content)))
    val noted = Noted(id, run.changes.map(_.folder), Some(run.id))
    def claim: Program[Unit] = for {
      _ <- note(record)
      _ <- each(noted.folders) { f =>
        val (own, at) = (At.own(f, id), ("claim", id, run, last, f))
        for {
          _ <- FolderSteps.drain(f, At.own(f, run.id), own, exclusive, Some(at))
          _ <- FolderSteps.drain(f, At.closed(f, run.id), own, exclusive, Some(at))
          _ <- FolderSteps.move(s"$own/_finished", s"$own/_waiting", exclusive)
        } yield ()
      }
    } yield ()
    Forget(
      ("undo", id, run, last),
      (for {
        _ <- claim
        _ <- Forget(("claimed", id, run, last), unit)
        free <- look("names free?")(d =>
          record.changes.forall(c => c.added.forall(a => d.get(s"${c.folder}/${a.name}").isEmpty)))
        _ <- if (free) unit else Failed("ZORDER_CONFLICT an old name is taken")
        n <- commit(record, Some(files), last)
        _ <- Forget(("publish", n, record), publisher.publish(n, record, "undo"))
      } yield "undone").attempt.flatMap {
        case Right(r) => Finished(r)
        case Left(e) =>
          Forget(("failed", record, e), committed(id)).flatMap { done =>
            (if (done) Finished(true) else hasReplaced(noted)).flatMap(
              if (_) unit else giveBack(noted, run.id, ("failed", record, e))).flatMap(_ =>
              Failed(e))
          }
      })
  }

  private val list: Program[Seq[Listed]] = for {
    root <- listing("t")
    folders <- each(root._2)(listing)
  } yield root._1 ++ folders.flatMap(_._1)

  private def listing(folder: String): Program[(Seq[Listed], Seq[String])] =
    look(s"list $folder") { d =>
      val names = d.list(folder).getOrElse(Nil).filter(At.isVisible)
      (
        // a reader takes the token for a file without rows
        names.flatMap(n => d.rows(s"$folder/$n").map(Listed(folder, n, _))),
        names.map(n => s"$folder/$n").filter(d.directories))
    }
}

object Statements {

  /** The error that names files which have the names of replaced ones. */
  val Named = "ZORDER_FILES_RETURNED or ZORDER_NAMES_REUSED"

  private def runOfName(name: String): String =
    if (name.startsWith("n-")) name.split('-')(1) else ""

  /** True for the id of a batch of one of two passes. */
  def isOfPasses(run: String): Boolean = run.contains('.')

  def isUndo(run: String): Boolean = run.startsWith("u")

  def isDealt(name: String): Boolean = runOfName(name).contains(".d")
  def isFinal(name: String): Boolean = runOfName(name).contains(".g")

  def runOf(id: String, files: Seq[Listed]): Run =
    Run(
      id,
      files.groupBy(_.folder).toSeq.sortBy(_._1).zipWithIndex.map { case ((folder, inputs), i) =>
        val rows = inputs.flatMap(_.content.rows).sorted
        val (one, two) = rows.splitAt((rows.size + 1) / 2)
        Change(
          folder,
          inputs.zipWithIndex.map { case (f, k) => Old(k, f.name, f.content) },
          Seq(one, two).filter(_.nonEmpty).zipWithIndex.map { case (part, k) =>
            New(k, s"n-$id-$i-$k", Rows(part))
          })
      })
}
