// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.util

import java.io.{File, FileNotFoundException}
import java.net.{URL, URLClassLoader}
import java.util.jar.JarFile

import scala.collection.JavaConverters._
import scala.util.Try
import scala.util.control.NonFatal

import org.apache.commons.io.IOUtils

/**
 * The jar that has this class. Its classes and files are needed even after the class loader of `--jars` was closed:
 * Hive's session closes that class loader when a client of the Thrift server leaves (HIVE-22989).
 */
private[sparkzorder] object OwnJar {
  private val loader: ClassLoader = getClass.getClassLoader

  /** None if the classes do not come from a jar file, as in a build. */
  private val file: Option[File] =
    Option(getClass.getProtectionDomain.getCodeSource)
      .flatMap(source => Option(source.getLocation))
      .filter(_.getProtocol == "file")
      // some class loaders make URLs with blanks, which are no URIs
      .flatMap(location => Try(new File(location.toURI)).toOption)
      .filter(_.isFile)

  /**
   * The URL of a file of the jar, whether the class loader is open or not. If there is no such file, the URL is null or
   * cannot be opened.
   */
  def resource(name: String): URL = file.fold(loader.getResource(name))(entry(_, name))

  /** The URL of a file in a jar. Its first `!/` ends the path of the jar, so a `!` in the path is encoded. */
  private[sparkzorder] def entry(jar: File, name: String): URL =
    new URL(s"jar:${jar.toURI.toString.replace("!", "%21")}!/$name")

  /** The content of a file of the jar; None if there is no such file. */
  def content(name: String): Option[Array[Byte]] = contentOf(resource(name))

  private[sparkzorder] def contentOf(file: URL): Option[Array[Byte]] =
    try Option(file).map(IOUtils.toByteArray)
    catch { case _: FileNotFoundException => None }

  /**
   * True if the process is a Thrift server, and the class loader of our classes can be closed. Then all classes are
   * loaded when the server starts. Other processes do not spend the time for that.
   */
  lazy val mayBeClosed: Boolean =
    loader.isInstanceOf[URLClassLoader] && sys.props.get("sun.java.command").exists(
      _.contains("org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"))

  /** Loads all classes, because a loaded class does not need its jar any more. */
  def loadClasses(): Unit = file.foreach(classes(_).foreach(load))

  private def classes(file: File): Seq[String] = {
    val jar = new JarFile(file)
    try jar.entries.asScala.map(_.getName).filter(_.endsWith(".class")).toList
    finally jar.close()
  }

  private def load(entry: String): Unit =
    try Class.forName(entry.stripSuffix(".class").replace('/', '.'), false, loader)
    catch {
      // the class needs a table format whose jars are missing
      case _: LinkageError =>
      case NonFatal(_) =>
    }
}
