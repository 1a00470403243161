// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.protocol

import scala.collection.mutable

/**
 * One process. Two are the same state when they have the same name and have got the same answers since
 * the last [[Forget]]: what a process does next depends on nothing else.
 */
final class Actor(
    val name: String,
    val program: Program[Any],
    val seen: Vector[Any],
    val crashed: Boolean) {

  override lazy val hashCode: Int =
    (name.hashCode * 31 + seen.hashCode) * 2 + (if (crashed) 1 else 0)

  override def equals(other: Any): Boolean = other match {
    case a: Actor =>
      (a eq this) || (a.hashCode == hashCode && a.name == name && a.crashed == crashed && a.seen == seen)
    case _ => false
  }

  def result: Option[Either[String, Any]] = program match {
    case Finished(v) => Some(Right(v))
    case Failed(e) => Some(Left(e))
    case _ => None
  }

  def isActive: Boolean = !crashed && result.isEmpty
  def crash: Actor = new Actor(name, program, Vector.empty, crashed = true)

  /** One step: the disk after it, and the actor. */
  def advance(disk: Disk): (Disk, Actor) = program match {
    case s: Step[_, _] => advanceBy(s, disk)
    case _ => throw new IllegalStateException(s"$name has ended")
  }

  private def advanceBy[B](s: Step[B, Any], disk: Disk): (Disk, Actor) = {
    val (after, answer) = s.effect(disk)
    (after, Actor.settle(name, s.next(answer), seen :+ answer))
  }
}

object Actor {
  def apply(name: String, program: Program[Any]): Actor = settle(name, program, Vector.empty)

  @scala.annotation.tailrec
  private def settle(name: String, program: Program[Any], seen: Vector[Any]): Actor =
    program match {
      case Forget(label, next) => settle(name, next, Vector(label))
      case Finished(v) => new Actor(name, program, Vector(v), crashed = false)
      case Failed(e) => new Actor(name, program, Vector("failed", e), crashed = false)
      case _ => new Actor(name, program, seen, crashed = false)
    }

  /** Runs a program to its end with nobody else at work. */
  @scala.annotation.tailrec
  def run[A](program: Program[A], disk: Disk): (Disk, Either[String, A]) = program match {
    case Finished(v) => (disk, Right(v))
    case Failed(e) => (disk, Left(e))
    case Forget(_, next) => run(next, disk)
    case s: Step[_, A] =>
      val (after, next) = once(s, disk)
      run(next, after)
  }

  /** Runs a program until the disk is as wanted, and no step further: its process is killed then. */
  @scala.annotation.tailrec
  def runUntil(program: Program[Any], disk: Disk)(wanted: Disk => Boolean): Disk = program match {
    case Forget(_, next) => runUntil(next, disk)(wanted)
    case s: Step[_, Any] if !wanted(disk) =>
      val (after, next) = once(s, disk)
      runUntil(next, after)(wanted)
    case _ => disk
  }

  private def once[B, A](s: Step[B, A], disk: Disk): (Disk, Program[A]) = {
    val (after, answer) = s.effect(disk)
    (after, s.next(answer))
  }
}

/** All that there is at one moment. */
final case class State(disk: Disk, actors: Vector[Actor], crashes: Int) {
  def ended: Boolean = actors.forall(!_.isActive)
}

/** An invariant that does not hold, with the steps that lead there. */
final case class Violation(invariant: String, message: String, steps: Seq[String]) {
  override def toString: String =
    s"$invariant: $message\n${steps.map("  " + _).mkString("\n")}"
}

/**
 * @param states different ones
 * @param transitions steps and crashes from these states
 * @param ends states in which every actor has ended or crashed
 * @param complete false when there are more states than were allowed
 */
final case class Explored(
    states: Long,
    transitions: Long,
    ends: Long,
    complete: Boolean,
    violation: Option[Violation])

private final class StateKey(val parts: Array[Int]) {
  override val hashCode: Int = java.util.Arrays.hashCode(parts)
  override def equals(other: Any): Boolean = other match {
    case k: StateKey => java.util.Arrays.equals(parts, k.parts)
    case _ => false
  }
}

/** States that were met, as a few numbers each: equal disks and actors are kept once. */
private final class Visited {
  private val disks = mutable.HashMap.empty[Disk, Int]
  private val actors = mutable.HashMap.empty[Actor, Int]
  private val keys = mutable.HashSet.empty[StateKey]

  def size: Int = keys.size

  /** @return whether it is new */
  def add(state: State): Boolean = {
    val parts = new Array[Int](state.actors.size + 2)
    parts(0) = disks.getOrElseUpdate(state.disk, disks.size)
    parts(1) = state.crashes
    state.actors.indices.foreach { i =>
      parts(i + 2) = actors.getOrElseUpdate(state.actors(i), actors.size)
    }
    keys.add(new StateKey(parts))
  }
}

/** What must hold: the name and what is wrong, if anything. */
final case class Invariant(name: String, wrong: State => Option[String])

/**
 * Visits every state that any interleaving of the actors' steps leads to, and stops at the first that
 * breaks an invariant.
 *
 * @param mortal actors that may crash before any of their steps
 * @param crashes how many crashes there may be
 * @param limit of states; beyond it nothing is explored
 * @param always must hold in every state
 * @param atEnd must hold when all actors have ended
 */
final class Explorer(
    mortal: Set[String],
    crashes: Int,
    always: Seq[Invariant],
    atEnd: Seq[Invariant],
    limit: Long = Explorer.MaxStates) {

  // the state, how far its actors have been tried, and the step that led to it
  private final class Frame(val state: State, val via: String) {
    var next = 0
  }

  def explore(disk: Disk, actors: Seq[Actor]): Explored = {
    val visited = new Visited
    val stack = mutable.ArrayBuffer.empty[Frame]
    var transitions, ends = 0L
    var violation: Option[Violation] = None

    def visit(state: State, via: String): Unit = if (visited.add(state)) {
      stack += new Frame(state, via)
      if (state.ended) ends += 1
      violation = check(state).map { case (i, message) =>
        Violation(i, message, stack.map(_.via).filter(_.nonEmpty).toList)
      }
    }

    visit(State(disk, actors.toVector, crashes), "")
    while (stack.nonEmpty && violation.isEmpty && visited.size < limit) {
      val frame = stack.last
      val i = frame.next / 2
      if (i == frame.state.actors.size) stack.remove(stack.size - 1)
      else {
        val crash = frame.next % 2 == 1
        frame.next += 1
        successor(frame.state, i, crash).foreach { case (state, via) =>
          transitions += 1
          visit(state, via)
        }
      }
    }
    Explored(visited.size.toLong, transitions, ends, stack.isEmpty, violation)
  }

  private def successor(state: State, i: Int, crash: Boolean): Option[(State, String)] = {
    val actor = state.actors(i)
    if (!actor.isActive) None
    else if (!crash) {
      val (disk, after) = actor.advance(state.disk)
      val method = actor.program.asInstanceOf[Step[_, _]].method
      Some((State(disk, state.actors.updated(i, after), state.crashes), s"${actor.name}: $method"))
    } else if (state.crashes > 0 && mortal(actor.name)) {
      val dead = State(state.disk, state.actors.updated(i, actor.crash), state.crashes - 1)
      Some((dead, s"${actor.name} is killed"))
    } else None
  }

  private def check(state: State): Option[(String, String)] = {
    val rules = if (state.ended) always ++ atEnd else always
    rules.iterator.flatMap(r => r.wrong(state).map(r.name -> _)).take(1).toList.headOption
  }
}

object Explorer {

  /** About 1 GB of memory. */
  val MaxStates = 4000000L
}
