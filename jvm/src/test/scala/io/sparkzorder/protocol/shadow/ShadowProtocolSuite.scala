// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.protocol.shadow

import scala.collection.mutable

import org.scalatest.funsuite.AnyFunSuite

/** @param stale what a reader has listed that reads the records later */
private final case class State(
    store: Store,
    processes: Vector[Process],
    stale: Option[Map[String, Content]])

private final case class Result(states: Int, problem: Option[String])

/**
 * Every order in which two drivers, UNDO, VACUUM and other programs can take their steps on a folder with
 * shadows, with a driver that is killed before any of its steps. In each state a reader that lists and
 * reads the records then, or reads them later than it lists, gets the rows of the visible files it has listed.
 */
class ShadowProtocolSuite extends AnyFunSuite {
  private def explore(first: Store, broken: Broken, kills: Boolean)(
      processes: (Driver, Vacuum) => Seq[Process]): Result = {
    val rule = new Rule(broken)
    val all = processes(new Driver(rule, broken), new Vacuum(rule, broken)).toVector

    def wrong(state: State): Option[String] =
      (Seq(state.store.visible) ++ state.stale).flatMap(reading(state.store, _)).headOption
        .orElse(lost(state))

    def reading(store: Store, listed: Map[String, Content]): Option[String] = {
      val view = rule.view(listed, store.log)
      val missing = view.collectFirst {
        // of a listing of before, a hidden file may have been deleted since, which is an error
        case (n, Some(run)) if (listed eq store.visible) && !store.hidden.contains(run -> n) => n
      }
      val rows = view.toSeq.flatMap {
        case (n, None) => listed(n).rows.toSeq
        case (n, Some(run)) =>
          store.log.collectFirst { case Shadow(`run`, _, added) => added(n) }.get.toSeq
      }.sorted
      val wanted = listed.values.toSeq.flatMap(_.rows).sorted
      if (missing.isDefined) Some(s"${missing.get} is not there: $store")
      else if (rows != wanted) Some(s"$rows are read for $wanted: $store")
      else None
    }

    def lost(state: State): Option[String] = state.processes.collectFirst {
      case Ended(n, Some(entry)) if !state.store.log.contains(entry) =>
        s"the record of $n is gone: ${state.store}"
    }

    val seen = mutable.HashSet.empty[State]
    val queue = mutable.Queue(State(first, all, None))
    seen += queue.head
    var problem = Option.empty[String]
    while (queue.nonEmpty && problem.isEmpty) {
      val state = queue.dequeue()
      problem = wrong(state)
      val next = state.processes.indices.flatMap { i =>
        val p = state.processes(i)
        val stepped = p.step(state.store).map { case (store, after) =>
          state.copy(store = store, processes = state.processes.updated(i, after))
        }
        val killed =
          if (kills && p.name.startsWith("run") && stepped.isDefined) {
            Some(state.copy(processes = state.processes.updated(i, Ended(p.name))))
          } else None
        stepped.toSeq ++ killed
      } ++ (if (state.stale.isEmpty) Seq(state.copy(stale = Some(state.store.visible))) else Nil)
      next.filter(seen.add).foreach(queue.enqueue(_))
    }
    Result(seen.size, problem)
  }

  private val start = Store(Map("a" -> Content(Set(1, 2), 101), "b" -> Content(Set(3), 102)))

  private def append(name: String, row: Int): Store => Store = _.put(name, Set(row))
  private def overwrite(name: String, row: Int): Store => Store =
    s => if (s.visible.contains(name)) s.put(name, Set(row)) else s
  private def delete(name: String): Store => Store = s => s.copy(visible = s.visible - name)
  private def restore(name: String): Store => Store =
    s => s.copy(visible = s.visible + (name -> start.visible(name)))

  /** A file that comes back while a run reads its inputs is not told from one that stayed. */
  private def restoreAfterCommit(name: String): Store => Store =
    s => if (s.log.isEmpty) s else restore(name)(s)

  /** The start after a first run, an append, and a second run that builds on the first. */
  private def chain(broken: Broken): Store = {
    val driver = new Driver(new Rule(broken), broken)
    def run(store: Store, name: String): Store = {
      var (now, process) = (store, driver.start(name))
      var next = process.step(now)
      while (next.isDefined) {
        now = next.get._1
        process = next.get._2
        next = process.step(now)
      }
      now
    }
    run(append("c", 9)(run(start, "run-0")), "run-1")
  }

  private def cases(broken: Broken): Seq[(String, () => Result)] = Seq(
    "two drivers and a writer" -> (() =>
      explore(start, broken, kills = true)((d, _) =>
        Seq(
          d.start("run-1"),
          d.start("run-2"),
          Writer("writer", List(append("c", 7), delete("a")))))),
    "a driver, an overwrite, UNDO and VACUUM" -> (() =>
      explore(start, broken, kills = true)((d, v) =>
        Seq(d.start("run-1"), Writer("writer", List(overwrite("b", 8))), Undo("undo"), v.start))),
    "a driver, and an overwrite that is taken back" -> (() =>
      explore(start, broken, kills = true)((d, _) =>
        Seq(d.start("run-1"), Writer("writer", List(overwrite("b", 8), restoreAfterCommit("b")))))),
    "a chain, a change under its first link, and VACUUM" -> (() =>
      explore(chain(broken), broken, kills = false)((_, v) =>
        Seq(
          Writer("writer", List(delete("a"))),
          Writer("other", List(overwrite("c", 6))),
          v.start))),
    "a chain, UNDO twice, VACUUM, and a driver" -> (() =>
      explore(chain(broken), broken, kills = true)((d, v) =>
        Seq(Undo("undo"), Undo("undo 2"), v.start, d.start("run-2")))),
    "a chain, a deletion that is taken back, a driver, and VACUUM" -> (() =>
      explore(chain(broken), broken, kills = true)((d, v) =>
        Seq(Writer("writer", List(delete("a"), restore("a"))), d.start("run-2"), v.start))))

  for ((name, run) <- cases(Broken())) test(name) {
    val result = run()
    info(s"${result.states} states")
    assert(result.problem === None)
    assert(result.states > 50)
  }

  for ((what, broken) <- Seq(
      "one held file suffices" -> Broken(anyHeldSuffices = true),
      "a step applies although the step before is inert" -> Broken(ignoresChain = true),
      "inputs are not looked at again" -> Broken(skipsRecheck = true),
      "hidden files are deleted without a record" -> Broken(deletesUnannounced = true),
      "a store lets records be overwritten" -> Broken(overwritesRecords = true)))
    test(s"found to be wrong: $what") {
      assert(cases(broken).exists(_._2().problem.isDefined))
    }
}
