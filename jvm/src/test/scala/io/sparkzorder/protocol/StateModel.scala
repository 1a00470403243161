package io.sparkzorder.protocol

import io.sparkzorder.protocol.Program._

/** Counterpart of [[io.sparkzorder.log.StateDirectory]] and Retention. */
final class StateModel(variant: Variant.Value) {

  /** StateDirectory.numbers */
  val numbers: Program[Seq[Int]] = look("StateDirectory.numbers")(d =>
    d.list(Places.commits).getOrElse(Nil).flatMap(n => toNumber(n.stripPrefix("_"))).sorted)

  private def toNumber(s: String): Option[Int] =
    if (s.nonEmpty && s.forall(_.isDigit)) Some(s.toInt) else None

  /** StateDirectory.read */
  def read(n: Int): Program[ModelRecord] = content(Places.record(n)).flatMap {
    case Some(Committed(record)) => Finished(record)
    case _ => Failed("ZORDER_STATE_UNREADABLE")
  }

  /** StateDirectory.holds */
  def holds(n: Int, run: String): Program[Boolean] = content(Places.record(n)).map {
    case Some(Committed(record)) => record.run == run
    case _ => false
  }

  /** StateDirectory.isDone */
  def isDone(n: Int): Program[Boolean] = content(Places.done(n)).flatMap {
    case Some(Text(run)) => if (variant == Variant.DoneWithoutRun) Finished(true) else holds(n, run)
    case _ => Finished(false)
  }

  /** StateDirectory.markDone */
  def markDone(n: Int, run: String): Program[Unit] =
    isDone(n).flatMap(if (_) unit else write(Places.done(n), Text(run)))

  /** StateDirectory.markConflict */
  def markConflict(n: Int): Program[Unit] = write(Places.conflict(n), Text(""))

  /** StateDirectory.unfinished */
  val unfinished: Program[Seq[(Int, ModelRecord)]] = for {
    all <- numbers
    open <- filterNot(all)(isDone)
    records <- each(open)(n => read(n).map(n -> _))
  } yield records

  /** Retention.removeExpired, with every retention expired at once */
  val removeExpired: Program[Unit] = for {
    all <- numbers
    _ <- each(all) { n =>
      isDone(n).flatMap {
        case false => unit
        case true => exists(Places.conflict(n)).flatMap {
            case true => unit
            case false => read(n).flatMap(r =>
                change("Retention.removeExpired")(_.deleteTree(Places.retention(r.run))))
          }
      }
    }
  } yield ()

  /** ExclusiveFile.create: a complete temporary file, then a hard link or an exclusive rename */
  def createRecord(n: Int, record: ModelRecord): Program[Boolean] = {
    val temporary = s"${Places.commits}/_tmp_${record.run}_$n"
    for {
      _ <- write(temporary, Committed(record))
      made <- step[Option[Boolean]]("ExclusiveFile.link") { d =>
        if (d.get(temporary).isEmpty) (d, None)
        else if (d.get(Places.record(n)).isDefined && variant != Variant.CommitByOverwrite) {
          (d, Some(false))
        } else {
          val linked = d.put(Places.record(n), Committed(record))
          linked.map(l => (l.note(RunCommitted(n, record.run)), Option(true))).getOrElse((d, None))
        }
      }
      _ <- change("ExclusiveFile.delete")(_.delete(temporary))
      won <- made.map(Finished(_)).getOrElse(Failed("IOException: no temporary file"))
    } yield won
  }

  /** getFileStatus */
  def exists(path: String): Program[Boolean] =
    look("exists")(d => d.get(path).isDefined || d.directories(path))

  private def content(path: String): Program[Option[Content]] = look("open")(_.get(path))

  /** ExclusiveFile.write: never makes a directory */
  private def write(path: String, c: Content): Program[Unit] = step("ExclusiveFile.write") { d =>
    d.put(path, c).map(_ -> true).getOrElse(d -> false)
  }.flatMap(ok => if (ok) unit else Failed("IOException: no such directory"))

  private def filterNot[A](items: Seq[A])(f: A => Program[Boolean]): Program[Seq[A]] =
    each(items)(i => f(i).map(drop => if (drop) Nil else Seq(i))).map(_.flatten)
}
