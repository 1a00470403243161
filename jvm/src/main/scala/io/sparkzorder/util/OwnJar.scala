// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.util

import java.io.File
import java.net.{URL, URLClassLoader}
import java.util.jar.JarFile

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

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
      .map(location => new File(location.toURI))
      .filter(_.isFile)

  /** A file of the jar, whether the class loader is open or not; null if there is none. */
  def resource(name: String): URL =
    file.fold(loader.getResource(name))(f => new URL(s"jar:${f.toURI}!/$name"))

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
