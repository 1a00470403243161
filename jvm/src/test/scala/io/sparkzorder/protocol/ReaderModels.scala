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
   * A reader with the extension: records, listing, records again; then the committed changes are laid
   * over the listing as `FolderOverlay` does it.
   */
  def overlay(folder: String): Program[Seq[String]] = for {
    before <- log
    listed <- look("list")(d =>
      d.list(folder).getOrElse(Nil).filter(Places.isVisible)
        .flatMap(n => d.rows(s"$folder/$n").map(n -> _)).toMap)
    after <- log
    rows <- if (before != after) Forget("again", overlay(folder))
    else {
      Forget(
        ("overlay", after, listed),
        files(folder, after, listed).flatMap(each(_)(open)).map(_.flatten))
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

  /** FolderOverlay.result */
  private def files(
      folder: String,
      log: Log,
      listed: Map[String, Rows]): Program[Seq[String]] = {
    val start: Map[String, Rows] = listed
    val changes = log.flatMap { case (r, done) =>
      r.changes.filter(_.folder == folder).map(c => (r.run, c, done))
    }
    def locate(run: String, a: ModelAdded): Program[Option[String]] =
      first(Seq(
        s"${Places.staging(run)}/${a.staged}",
        Places.waiting(run, folder, a),
        s"$folder/${a.name}"))(p => look("find")(d => d.rows(p).map(_ => p)))
    def apply(i: Int, now: Map[String, (String, Rows)]): Program[Map[String, (String, Rows)]] =
      if (i == changes.size) Finished(now)
      else {
        val (run, c, done) = changes(i)
        val replaced = c.replaced.filter(r => now.get(r.name).exists(_._2 == r.content))
        val missing = c.added.filterNot(a => now.contains(a.name))
        val next = if (replaced.isEmpty && missing.isEmpty) Finished(now)
        else each(missing)(a => locate(run, a).map(a -> _)).map { found =>
          val all = found.forall(_._2.isDefined)
          val come = found.collect { case (a, Some(p)) => a.name -> (p -> a.content) }
          if (all || (replaced.isEmpty && done)) (now -- replaced.map(_.name)) ++ come
          else if (replaced.isEmpty) now ++ come
          else now
        }
        next.flatMap(apply(i + 1, _))
      }
    apply(0, start.map { case (n, r) => n -> (s"$folder/$n" -> r) })
      .map(_.values.map(_._1).toSeq.sorted)
  }
}
