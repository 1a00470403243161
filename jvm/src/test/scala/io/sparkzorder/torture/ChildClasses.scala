// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.torture

import java.io.{File, FileOutputStream}
import java.nio.file.{Files, Path}
import java.util.jar.{JarEntry, JarOutputStream}

import scala.collection.JavaConverters._

import org.apache.spark.SPARK_VERSION

/**
 * The class path of the children, and an archive of their loaded classes that the first child leaves at
 * its end (application class-data sharing of the JVM): the others then start in half of the time. The
 * JVM archives classes of jars only, so the build's directories of classes are put into jars first.
 *
 * @param base directory for the jars and the archive
 */
private[torture] final class ChildClasses(base: File) {
  base.mkdirs()
  private val archive = new File(base, "classes.jsa")

  /** The jars of a Spark with Hive, if the development environment has one of this version. */
  private val hive: Seq[File] = {
    val versions = Option(new File(".venv/lib").listFiles).toSeq.flatten
    val jars = versions.map(new File(_, "site-packages/pyspark/jars"))
      .flatMap(d => Option(d.listFiles).toSeq.flatten)
    val isOurs = jars.exists { j =>
      j.getName.startsWith("spark-hive_") && j.getName.endsWith(s"-$SPARK_VERSION.jar")
    }
    if (isOurs) jars.filter(_.getName.endsWith(".jar")).sortBy(_.getName) else Nil
  }

  def hasHive: Boolean = hive.nonEmpty

  private val catalog = new File(base, "catalog")

  /** A catalog of Hive takes long to make, so the others are copies of the first one. */
  def keepCatalog(made: File): Unit = { val _ = TortureTable.copy(made, catalog) }

  def copyCatalog(to: File): Unit =
    if (catalog.exists) { val _ = TortureTable.copy(catalog, to) }

  private val classPath: String = {
    val parts = System.getProperty("java.class.path").split(File.pathSeparatorChar).toSeq
    val there = parts.map(new File(_)).filter(_.exists)
    (there ++ hive.filterNot(h => there.exists(_.getName == h.getName))).zipWithIndex
      .map { case (f, i) => if (f.isDirectory) jar(f, new File(base, s"classes$i.jar")) else f }
      .mkString(File.pathSeparator)
  }

  /** Flags of the next child: one that makes the archive, as long as there is none. */
  def flags: Seq[String] = {
    val sharing =
      if (archive.exists) s"-XX:SharedArchiveFile=$archive"
      else s"-XX:ArchiveClassesAtExit=$archive"
    Seq(sharing, "-Xshare:auto", "-Xlog:cds=off", "-Xlog:cds+dynamic=off", "-cp", classPath)
  }

  private def jar(directory: File, to: File): File = {
    val root = directory.toPath
    val out = new JarOutputStream(new FileOutputStream(to))
    val walk = Files.walk(root)
    try {
      walk.iterator.asScala.filter(Files.isRegularFile(_)).foreach { (file: Path) =>
        out.putNextEntry(new JarEntry(root.relativize(file).toString))
        Files.copy(file, out)
        out.closeEntry()
      }
    } finally {
      walk.close()
      out.close()
    }
    to
  }
}
