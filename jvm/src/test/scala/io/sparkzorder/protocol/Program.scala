// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.protocol

/**
 * What an actor does: a sequence of steps, each one operation of the file system, where later steps
 * depend on the answers to earlier ones. Written like the code that it stands for.
 */
sealed trait Program[+A] {
  def flatMap[B](f: A => Program[B]): Program[B]

  /** The failure as a value. */
  def attempt: Program[Either[String, A]]

  def map[B](f: A => B): Program[B] = flatMap(a => Finished(f(a)))

  /** The same as a part of something larger: what comes after it depends on `context`, too. */
  def within(context: Any): Program[A]
}

final case class Finished[+A](value: A) extends Program[A] {
  override def flatMap[B](f: A => Program[B]): Program[B] = f(value)
  override def attempt: Program[Either[String, A]] = Finished(Right(value))
  override def within(context: Any): Program[A] = this
}

/** A named error, as the code throws it. */
final case class Failed(error: String) extends Program[Nothing] {
  override def flatMap[B](f: Nothing => Program[B]): Program[B] = this
  override def attempt: Program[Either[String, Nothing]] = Finished(Left(error))
  override def within(context: Any): Program[Nothing] = this
}

/**
 * One operation.
 *
 * @param method of the code that it stands for
 * @param effect the disk after it, and the answer
 * @param next what comes after the answer
 */
final class Step[B, +A](
    val method: String,
    val effect: Disk => (Disk, B),
    val next: B => Program[A])
    extends Program[A] {
  override def flatMap[C](f: A => Program[C]): Program[C] =
    new Step[B, C](method, effect, b => next(b).flatMap(f))
  override def attempt: Program[Either[String, A]] =
    new Step[B, Either[String, A]](method, effect, b => next(b).attempt)
  override def within(context: Any): Program[A] =
    new Step[B, A](method, effect, b => next(b).within(context))
}

/**
 * Nothing: tells the explorer that what comes next depends on `label` alone and no more on the answers
 * so far, so that actors that came here on different ways count as one.
 */
final case class Forget[+A](label: Any, next: Program[A]) extends Program[A] {
  override def flatMap[B](f: A => Program[B]): Program[B] = Forget(label, next.flatMap(f))
  override def attempt: Program[Either[String, A]] = Forget(label, next.attempt)
  override def within(context: Any): Program[A] = Forget((context, label), next.within(context))
}

object Program {

  def step[A](method: String)(effect: Disk => (Disk, A)): Program[A] =
    new Step[A, A](method, effect, Finished(_))

  /** An operation that only looks. */
  def look[A](method: String)(answer: Disk => A): Program[A] = step(method)(d => (d, answer(d)))

  /** An operation that only changes something. */
  def change(method: String)(effect: Disk => Disk): Program[Unit] =
    step(method)(d => (effect(d), ()))

  val unit: Program[Unit] = Finished(())

  def each[A, B](items: Seq[A])(f: A => Program[B]): Program[Seq[B]] =
    items.foldLeft[Program[Vector[B]]](Finished(Vector.empty)) { (before, item) =>
      before.flatMap(all => f(item).map(all :+ _))
    }

  /** The first item that `f` has something to say of; later ones are not looked at. */
  def first[A, B](items: Seq[A])(f: A => Program[Option[B]]): Program[Option[B]] =
    items.headOption match {
      case None => Finished(None)
      case Some(item) =>
        f(item).flatMap {
          case None => first(items.tail)(f)
          case some => Finished(some)
        }
    }

  /** The second only where the first has found nothing. */
  def orElse[B](
      one: Program[Option[B]])(other: => Program[Option[B]]): Program[Option[B]] =
    one.flatMap(o => if (o.isDefined) Finished(o) else other)

  def all[A](items: Seq[A])(f: A => Program[Boolean]): Program[Boolean] =
    first(items)(i => f(i).map(ok => if (ok) None else Some(()))).map(_.isEmpty)

  def any[A](items: Seq[A])(f: A => Program[Boolean]): Program[Boolean] =
    first(items)(i => f(i).map(ok => if (ok) Some(()) else None)).map(_.isDefined)
}
