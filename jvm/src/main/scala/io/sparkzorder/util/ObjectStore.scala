// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.util

import java.io.{FileNotFoundException, IOException}
import java.nio.file.{FileAlreadyExistsException => NioFileExists}
import java.util.UUID

import scala.annotation.tailrec
import scala.collection.mutable.ArrayBuffer
import scala.util.Try

import org.apache.commons.io.IOUtils
import org.apache.hadoop.fs.{
  CommonPathCapabilities,
  EtagSource,
  FileAlreadyExistsException,
  FileStatus,
  FileSystem,
  FSDataOutputStream,
  Path
}

/**
 * Object stores: file systems without directories and without an atomic rename. An object appears at once
 * with all its content when its writer closes it, and a store that can refuse to create an object twice lets
 * one of several writers win.
 */
private[sparkzorder] object ObjectStore {
  private val S3 = Set("s3", "s3a", "s3n")
  private val Azure = Set("abfs", "abfss")
  private val schemes: Set[String] =
    S3 ++ Set("gs", "oss", "cos", "cosn", "obs", "tos", "swift", "wasb", "wasbs")

  /** True for a scheme whose file systems all are object stores. */
  def hasScheme(scheme: String): Boolean = schemes(scheme)

  def isOne(fs: FileSystem): Boolean = hasScheme(fs.getUri.getScheme) || isFlatAzure(fs)

  /**
   * True for an Azure account with a flat namespace, where a rename copies files one by one. Only for an account with
   * a hierarchical namespace does the client report that it supports ACLs.
   */
  def isFlatAzure(fs: FileSystem): Boolean = Azure(fs.getUri.getScheme) &&
    !fs.hasPathCapability(new Path(fs.getUri.toString + "/"), CommonPathCapabilities.FS_ACLS)

  /**
   * How often a create is repeated after an IOException. S3 answers 409 while another writer creates the
   * object.
   */
  private val Attempts = 10
  private val PauseMs = 200L

  /** The option by which Hadoop's client of S3, from 3.4.2 on, sends If-None-Match. */
  private val ConditionalOverwrite = "fs.option.create.conditional.overwrite"

  /** True for a store whose client can send the condition. [[whyUnsafe]] tests whether the store obeys. */
  def createsOnCondition(fs: FileSystem, path: Path): Boolean =
    isOne(fs) && (!S3(fs.getUri.getScheme) || fs.hasPathCapability(path, ConditionalOverwrite))

  /**
   * A stream whose close fails if the object exists by then. A client of S3 that cannot send the condition looks
   * for the object only when the stream is opened.
   */
  private def conditional(fs: FileSystem, path: Path): FSDataOutputStream =
    if (S3(fs.getUri.getScheme) && createsOnCondition(fs, path)) {
      fs.createFile(path).must(ConditionalOverwrite, true).build()
    } else fs.create(path, false)

  /**
   * Creates an object unless it exists. Of several creators exactly one succeeds, on a store that passes the
   * trial of [[whyUnsafe]].
   *
   * @return false if another process was first
   */
  def create(fs: FileSystem, path: Path, content: Array[Byte]): Boolean = {
    @tailrec
    def attempt(left: Int): Boolean = {
      val failure = Try(write(conditional(fs, path), content)).failed.toOption
      // A client repeats a request whose answer was lost, and the store refuses the second request. If the object
      // has the content that this process writes, this process was first.
      lazy val there = read(fs, path)
      failure match {
        case None => true
        case Some(_: IOException) if there.isDefined => there.exists(_.sameElements(content))
        case Some(_: IOException) if left > 0 =>
          Thread.sleep(PauseMs)
          attempt(left - 1)
        case Some(e) => throw e
      }
    }
    attempt(Attempts)
  }

  /**
   * Creates the object `to` with the content of `from`, unless `to` exists.
   *
   * @return false if `to` exists. After a lost answer of the store, `to` may be the object of this very call
   */
  def copy(fs: FileSystem, from: Path, to: Path): Boolean = {
    val in = fs.open(from)
    try {
      try {
        val out = conditional(fs, to)
        orAbort(out)(org.apache.hadoop.io.IOUtils.copyBytes(in, out, 65536, false))
        true
      } catch { case e: IOException => if (fs.exists(to)) false else throw e }
    } finally in.close()
  }

  /** Writes an object, whatever was there before. */
  def replace(fs: FileSystem, path: Path, content: Array[Byte]): Unit =
    write(fs.create(path, true), content)

  /**
   * Tests whether the store itself refuses to create an object twice, because a store may ignore the condition that
   * the client sends. Both writers are opened before either is closed. So a client that only looks for the object
   * when it opens a writer does not pass the test.
   *
   * @param directory where the trial is made; nothing is left there
   * @return None if the store refuses, else what happened
   */
  def whyUnsafe(fs: FileSystem, directory: Path): Option[String] = {
    val path = new Path(directory, s"${ExclusiveFile.Temporary}${UUID.randomUUID()}")
    val opened = ArrayBuffer.empty[FSDataOutputStream]
    def writer(): FSDataOutputStream = {
      opened += conditional(fs, path)
      opened.last
    }
    try {
      val first = writer()
      val second = Try(writer())
      // an object must not appear before it is complete: readers would see half of a record, and a kill would
      // leave it
      val isEarly = isRefusal(second) || fs.exists(path)
      write(first, Array[Byte](1))
      val isRefused = isEarly || isRefusal(Try(write(second.get, Array[Byte](2))))
      if (isEarly) Some("an object is there before it is complete")
      else if (isRefused && read(fs, path).exists(_.sameElements(Array[Byte](1)))) None
      else Some("it created one object twice, so two drivers could commit one record")
    } catch {
      case e @ (_: IllegalArgumentException | _: UnsupportedOperationException) =>
        Some(s"its client cannot create an object on condition (${e.getMessage})")
    } finally {
      // an upload that was not ended would stay in the store; after a close, an abort does nothing
      opened.foreach(out => Try(out.abort()))
      Try(fs.delete(path, false))
    }
  }

  /**
   * True if the store or its client has refused to create an object because the object exists. Any other failure is
   * thrown: it may pass, as throttling does, and tells nothing about the store.
   */
  private def isRefusal(result: Try[_]): Boolean =
    result.failed.toOption.exists(e => StoreAnswer.isRefusal(e) || { throw e })

  private def write(out: FSDataOutputStream, content: Array[Byte]): Unit =
    orAbort(out)(out.write(content))

  /** The close creates the object, so a stream with a part of the content must be aborted instead. */
  private def orAbort(out: FSDataOutputStream)(body: => Unit): Unit = {
    try body
    catch {
      case e: Throwable =>
        Try(out.abort())
        throw e
    }
    out.close()
  }

  private def read(fs: FileSystem, path: Path): Option[Array[Byte]] =
    try {
      val in = fs.open(path)
      try Some(IOUtils.toByteArray(in))
      finally in.close()
    } catch { case _: FileNotFoundException => None }
}

/**
 * Recognizes two answers of a store: that an object exists, and that the user has no permission. Each client of a store
 * reports them by classes of its own, which are not on our class path. S3A reports an object that exists by a
 * `RemoteFileChangedException` (412), or by an exception with the status (409); ABFS by Hadoop's
 * `FileAlreadyExistsException`. The client of GCS throws an exception whose cause has the status.
 */
private[util] object StoreAnswer {
  // while another writer creates the object, S3 answers 409 and not 412
  private val Refusals = Set(409, 412)
  private val Denied = 403
  // GCS answers 403 also to a user who has asked too often
  private val TooOften = "\\b(rateLimitExceeded|userRateLimitExceeded|quotaExceeded)\\b".r
  private val Getters = Seq("statusCode", "getStatusCode", "getHttpStatusCode", "getCode")
  private val MaxCauses = 20

  /** True if the store has refused to create an object, because there is one of this name. */
  def isRefusal(failure: Throwable): Boolean = causes(failure).exists {
    case _: FileAlreadyExistsException | _: NioFileExists => true
    case e =>
      e.getClass.getName.endsWith("RemoteFileChangedException") || status(e).exists(Refusals)
  }

  /** True if the store has denied the operation to the user. */
  def isDenial(failure: Throwable): Boolean = causes(failure).exists(status(_).contains(Denied)) &&
    !causes(failure).exists(e => TooOften.findFirstIn(e.toString).isDefined)

  private def causes(e: Throwable): Iterator[Throwable] =
    Iterator.iterate(e)(_.getCause).takeWhile(_ != null).take(MaxCauses)

  private def status(e: Throwable): Option[Int] =
    Getters.flatMap(getter => Try(e.getClass.getMethod(getter).invoke(e)).toOption)
      .collectFirst { case status: Integer => status.intValue }
}

/**
 * ETags, by which a store names the content of an object. Two objects with the same ETag have the same content.
 * Two objects with different ETags may have the same content, too.
 */
private[sparkzorder] object Etags {

  /** The ETag of a status; empty if the status has none. Spark drops the ETags of long listings. */
  def of(status: FileStatus): String = status match {
    case s: EtagSource => Option(s.getEtag).getOrElse("")
    case _ => ""
  }

  /** False only if both ETags are known and differ. */
  def mayHave(etag: String, status: FileStatus): Boolean =
    etag == null || etag.isEmpty || Seq("", etag).contains(of(status))
}
