// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources

import java.io.{File, FileOutputStream}
import java.net.URLClassLoader
import java.nio.file.Files
import java.util.jar.{JarEntry, JarOutputStream}

import org.apache.commons.io.FileUtils
import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.delta.DeltaLog

import io.sparkzorder.util.OwnJar

/** Classes of ours that call those of a format, where our class loader does not find the format's. */
class FormatLoadersSuite extends AnyFunSuite {
  private val own = classOf[TableFormat].getClassLoader
  private val names = classOf[DeltaLog].getName

  /** Has Delta's classes of its own, as if no other class loader had them. */
  private def deltas(): URLClassLoader = {
    val jar = classOf[DeltaLog].getProtectionDomain.getCodeSource.getLocation
    new URLClassLoader(Array(jar), own) {
      override def loadClass(name: String, resolve: Boolean): Class[_] =
        if (!name.startsWith("org.apache.spark.sql.delta.")) super.loadClass(name, resolve)
        else Option(findLoadedClass(name)).getOrElse(findClass(name))
    }
  }

  test("our own classes serve a format that their class loader finds") {
    assert(FormatLoaders.of("delta", own) eq own)
    assert(FormatLoaders.of("delta") eq own)
  }

  test("copies of our classes serve a format of another class loader") {
    val (one, other) = (deltas(), deltas())
    try {
      val copies = FormatLoaders.of("delta", one)
      assert(copies ne own)
      assert(FormatLoaders.of("delta", one) eq copies)
      assert(FormatLoaders.of("delta", other) ne copies)
      assert(copies.loadClass(names) eq one.loadClass(names))
      // the copies are of a class that is known to the others
      val opener = copies.loadClass("io.sparkzorder.sources.delta.DeltaTables")
      assert(opener.getClassLoader eq copies)
      assert(opener.getDeclaredConstructor().newInstance().isInstanceOf[FormatOpener])
      assert(copies.loadClass(classOf[TableFormat].getName) eq classOf[TableFormat])
      assertThrows[ClassNotFoundException](copies.loadClass("io.sparkzorder.sources.delta.Nothing"))
    } finally {
      one.close()
      other.close()
    }
  }

  test("files of a jar whose directory has a `!` in its name, and a file that the jar lacks") {
    val home = Files.createTempDirectory("zorder-jar").toFile
    try {
      val jar = new File(home, "spark!/ours.jar")
      assert(jar.getParentFile.mkdir())
      val out = new JarOutputStream(new FileOutputStream(jar))
      out.putNextEntry(new JarEntry("io/a.txt"))
      out.write("text".getBytes("UTF-8"))
      out.close()
      def content(name: String): Option[String] =
        OwnJar.contentOf(OwnJar.entry(jar, name)).map(new String(_, "UTF-8"))
      assert(content("io/a.txt") === Some("text"))
      assert(content("io/b.txt") === None)
      assert(OwnJar.contentOf(null) === None)
    } finally FileUtils.deleteDirectory(home)
  }

  test("a class loader without the format") {
    // without Delta and without us
    val nothing = new URLClassLoader(Array.empty[java.net.URL], null)
    try assertThrows[ClassNotFoundException](FormatLoaders.of("delta", nothing))
    finally nothing.close()
  }
}
