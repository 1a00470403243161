package io.sparkzorder.protocol

import io.sparkzorder.protocol.Program._

/** A data file as it was listed. */
final case class Listed(folder: String, name: String, content: Rows)

/** Counterpart of OptimizeExecutor, InPlace and Committer: a whole OPTIMIZE of every folder, and recovery. */
final class RewriterModel(variant: Variant.Value) {
  private val state = new StateModel(variant)
  private val publisher = new PublisherModel(state, variant)

  /** The first steps of OPTIMIZE, and the whole of `RECOVER LAYOUT`. */
  def recover: Program[Unit] = for {
    _ <- publisher.rollForward("recover")
    _ <- Forget("retention", state.removeExpired)
  } yield ()

  /** The end of Publisher.publish of a run whose files are all in. */
  def finish(n: Int, record: ModelRecord): Program[Unit] = publisher.finish(n, record, Nil)

  /** OptimizeExecutor.steps; a run id names all that it makes */
  def optimize(run: String): Program[String] = for {
    earlier <- state.numbers
    last = earlier.lastOption.getOrElse(0)
    _ <- publisher.rollForward(("list", last))
    _ <- Forget(("retention", last), state.removeExpired)
    files <- Forget(("list", last), list)
    result <- if (files.isEmpty) Finished("nothing to do")
    else Forget(("batch", last, files), rewrite(RewriterModel.recordOf(run, files), files, last))
  } yield result

  /** InPlace.write */
  private def rewrite(record: ModelRecord, files: Seq[Listed], last: Int): Program[String] =
    work(record, files, last).attempt.flatMap {
      case scala.Right(result) => Finished(result)
      case scala.Left(error) =>
        Forget(("failed", record, error), isCommitted(record.run)).flatMap { committed =>
          if (committed) Failed(error)
          else change("InPlace.discard")(discard(record.run, _)).flatMap(_ => Failed(error))
        }
    }

  /** InPlace.discard: retained files stay */
  private def discard(run: String, d: Disk): Disk = {
    val retained = Places.retention(run)
    (if (d.directories(retained)) d.removeDirectory(retained).getOrElse(d) else d)
      .deleteTree(Places.staging(run))
  }

  private def work(record: ModelRecord, files: Seq[Listed], last: Int): Program[String] = for {
    _ <- stage(record)
    _ <- if (variant == Variant.CommitByOverwrite || !verifiesLate) verify(record, files) else unit
    _ <- if (variant == Variant.DeleteBeforeCommit) deleteInputs(record) else unit
    n <- commit(record, files, last)
    _ <- if (verifiesLate) verify(record, files) else unit
    _ <- Forget(("publish", n, record), publisher.publish(n, record, "rewriter"))
  } yield "done"

  private val verifiesLate = variant == Variant.CommitBeforeVerify

  /**
   * StateDirectory.create, FileWriter.write: one step, since nobody looks at the files of a run that is
   * not committed. In the variant that verifies late the writer is faulty and loses a row.
   */
  private def stage(record: ModelRecord): Program[Unit] = change("FileWriter.write") { d =>
    val made = Seq(Places.commits, Places.staging(record.run), Places.retention(record.run))
      .foldLeft(d)(_.makeDirectories(_))
    record.changes.flatMap(_.added).foldLeft(made) { (now, a) =>
      now.put(s"${Places.staging(record.run)}/${a.staged}", broken(a.content)).get
    }
  }

  private def broken(content: Rows): Rows =
    if (verifiesLate) content.copy(rows = content.rows.dropRight(1)) else content

  /** Verification.check */
  private def verify(record: ModelRecord, files: Seq[Listed]): Program[Unit] =
    look("Verification.check") { d =>
      record.changes.flatMap(_.added).flatMap(a =>
        d.rows(s"${Places.staging(record.run)}/${a.staged}").map(_.rows.size)).sum
    }.flatMap { written =>
      if (written == files.map(_.content.rows.size).sum) unit
      else Failed("ZORDER_VERIFICATION_FAILED")
    }

  private def deleteInputs(record: ModelRecord): Program[Unit] =
    each(record.changes.flatMap(c => c.replaced.map(r => s"${c.folder}/${r.name}")))(p =>
      change("delete before commit")(_.delete(p))).map(_ => ())

  /** Committer.commit */
  private def commit(record: ModelRecord, files: Seq[Listed], after: Int): Program[Int] = {
    def attempt(checkedTo: Int): Program[Int] = Forget(
      ("commit", record, files, checkedTo),
      for {
        numbers <- state.numbers
        newer = numbers.filter(_ > checkedTo)
        _ <- each(newer)(n => state.read(n).flatMap(check(_, record)))
        _ <- recheck(files)
        staged <- state.exists(Places.staging(record.run))
        _ <- if (staged) unit else Failed("ZORDER_CONFLICT staged files were removed")
        last = newer.lastOption.getOrElse(checkedTo)
        won <- Forget(("create", record, files, last), state.createRecord(last + 1, record))
        n <- if (won) Finished(last + 1) else attempt(last)
      } yield n)
    attempt(after)
  }

  /** Committer.check */
  private def check(other: ModelRecord, record: ModelRecord): Program[Unit] = {
    def inputs(r: ModelRecord) =
      r.changes.flatMap(c => c.replaced.map(f => c.folder -> f.name)).toSet
    def outputs(r: ModelRecord) = r.changes.flatMap(c => c.added.map(f => c.folder -> f.name)).toSet
    if ((inputs(other) ++ outputs(other)).intersect(inputs(record)).isEmpty) unit
    else Failed(s"ZORDER_CONFLICT run ${other.run} has replaced or added a file")
  }

  /** InPlace.recheck */
  private def recheck(files: Seq[Listed]): Program[Unit] =
    if (variant == Variant.NoRecheck || variant == Variant.DeleteBeforeCommit) unit
    else list.flatMap { now =>
      if (files.forall(now.contains)) unit else Failed("ZORDER_CONFLICT an input has changed")
    }

  /** InPlace.isCommitted */
  private def isCommitted(run: String): Program[Boolean] = (for {
    numbers <- state.numbers
    records <- each(numbers)(state.read)
  } yield records.exists(_.run == run)).attempt.map(_.fold(_ => true, identity))

  /** TableLister.list: the root, then each folder */
  private val list: Program[Seq[Listed]] = for {
    root <- listing(Places.root)
    folders <- each(root._2)(listing)
  } yield root._1 ++ folders.flatMap(_._1)

  private def listing(folder: String): Program[(Seq[Listed], Seq[String])] =
    look(s"TableLister.list $folder") { d =>
      val names = d.list(folder).getOrElse(Nil).filter(Places.isVisible)
      (
        names.flatMap(n => d.rows(s"$folder/$n").map(Listed(folder, n, _))),
        names.map(n => s"$folder/$n").filter(d.directories))
    }
}

object RewriterModel {

  /** InPlace.recordOf: the rows of each folder dealt to two files, or to one when there is one row */
  def recordOf(run: String, files: Seq[Listed]): ModelRecord = {
    val folders = files.groupBy(_.folder).toSeq.sortBy(_._1)
    ModelRecord(
      run,
      folders.zipWithIndex.map { case ((folder, inputs), i) =>
        val rows = inputs.flatMap(_.content.rows).sorted
        val (one, two) = rows.splitAt((rows.size + 1) / 2)
        ModelChange(
          folder,
          inputs.map(f => ModelReplaced(f.name, f.content, s"_${i}_${f.name}")),
          Seq(one, two).filter(_.nonEmpty).zipWithIndex.map { case (part, k) =>
            ModelAdded(s"_${i}_$k", s"n-$run-$i-$k", Rows(part))
          })
      })
  }
}
