package io.sparkzorder.protocol

import io.sparkzorder.protocol.Program._

/** Those who only read; the result is the rows that they got. */
object ReaderModels {

  /**
   * A reader without the extension: lists a folder, and since a listing of a large directory takes more
   * than one call, in two halves, the old files first; then it opens each file.
   */
  def plain(folder: String): Program[Seq[String]] = for {
    early <- names(folder, _ < "m")
    late <- names(folder, _ >= "m")
    rows <- each(early ++ late)(n => open(s"$folder/$n"))
  } yield rows.flatten

  private def names(folder: String, half: String => Boolean): Program[Seq[String]] =
    look("list")(d => d.list(folder).getOrElse(Nil).filter(Places.isVisible).filter(half))

  private def open(path: String): Program[Seq[String]] = look("open")(_.rows(path)).flatMap {
    case Some(content) => Finished(content.rows)
    case None => Failed("FileNotFoundException")
  }

  /**
   * A reader with the extension: it has a listing, of whatever age, reads the records and lays the
   * committed changes over the listing as `FolderOverlay` does it. What it looks up for that belongs to
   * several moments, so it begins again when the records have changed meanwhile.
   */
  def overlay(folder: String): Program[Seq[String]] = for {
    listed <- look("list")(d =>
      d.list(folder).getOrElse(Nil).filter(Places.isVisible)
        .flatMap(n => d.rows(s"$folder/$n").map(n -> _)).toMap)
    rows <- attempt(folder, listed)
  } yield rows

  /** Overlay.attempt */
  private def attempt(folder: String, listed: Map[String, Rows]): Program[Seq[String]] = for {
    before <- log
    steps = stepsOf(folder, before)
    found <- each(steps.flatMap(s => s.change.added.map(s -> _))) { case (s, a) =>
      if (listed.get(a.name).contains(a.content)) {
        Finished((s.run, a.name) -> Option(s"$folder/${a.name}"))
      } else locate(folder, s.run, a).map((s.run, a.name) -> _)
    }
    after <- log
    rows <- if (before != after) Forget(("again", listed), attempt(folder, listed))
    else {
      val paths = new LaidOver(folder, steps, listed, found.toMap).paths
      Forget(("open", paths), each(paths)(open).map(_.flatten))
    }
  } yield rows

  private type Log = Seq[(ModelRecord, Boolean)]

  /** CommitLogReader.read; records never change, so that reading them is no step of its own */
  private val log: Program[Log] = look("CommitLogReader.read") { d =>
    val names = d.list(Places.commits).getOrElse(Nil)
    names.flatMap { n =>
      d.get(s"${Places.commits}/$n").collect {
        case Committed(r) if !n.startsWith("_tmp") => n -> r
      }
    }.map { case (n, r) => r -> d.get(s"${Places.commits}/${n}_done").contains(Text(r.run)) }
  }

  private case class Laid(run: String, change: ModelChange, done: Boolean)

  private def stepsOf(folder: String, log: Log): IndexedSeq[Laid] = log.toIndexedSeq.flatMap {
    case (r, done) => r.changes.filter(_.folder == folder).map(Laid(r.run, _, done))
  }

  /** A new file goes from one of these places to the next. */
  private def locate(folder: String, run: String, a: ModelAdded): Program[Option[String]] =
    first(Seq(
      s"${Places.staging(run)}/${a.staged}",
      Places.waiting(run, folder, a),
      s"$folder/${a.name}"))(p => look("find")(d => d.rows(p).map(_ => p)))

  /**
   * FolderOverlay
   *
   * @param found where each added file is, if anywhere, by its run and name
   */
  private final class LaidOver(
      folder: String,
      steps: IndexedSeq[Laid],
      listed: Map[String, Rows],
      found: Map[(String, String), Option[String]]) {

    private def isFound(s: Laid, a: ModelAdded) = found((s.run, a.name)).isDefined

    private def isApplicable(i: Int): Boolean = steps(i).change.added.forall { a =>
      isFound(steps(i), a) || (i + 1 until steps.size).exists { j =>
        steps(j).change.replaced.exists(r => r.name == a.name && r.content == a.content) &&
        isApplicable(j)
      }
    }

    /** The path, if it is known, and the rows by name. */
    private type Files = Map[String, (Option[String], Rows)]

    private def lay(files: Files, i: Int): Files = {
      val step = steps(i)
      val replaced =
        step.change.replaced.filter(r => files.get(r.name).exists(_._2 == r.content))
      val missing = step.change.added.filterNot(a => files.contains(a.name))
      def come(added: Seq[ModelAdded]): Files =
        added.map(a => a.name -> (found((step.run, a.name)) -> a.content)).toMap
      val here = come(missing.filter(isFound(step, _)))
      if ((replaced.nonEmpty || !step.done) && isApplicable(i)) {
        (files -- replaced.map(_.name)) ++ come(missing)
      } else if (replaced.nonEmpty) files
      else files ++ here
    }

    def paths: Seq[String] = {
      val start: Files = listed.map { case (n, r) => n -> (Option(s"$folder/$n") -> r) }
      val laid = steps.indices.foldLeft(start)(lay)
      // where a file is nowhere, the listing is left as it is: opening the old files fails
      val used = if (laid.values.forall(_._1.isDefined)) laid else start
      used.values.flatMap(_._1).toSeq.sorted
    }
  }
}
