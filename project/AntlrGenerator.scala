// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

import sbt._

/** Runs the ANTLR tool of a row's own runtime version over the grammar, when the grammar changed. */
object AntlrGenerator {
  def generate(
      grammar: File,
      toolClasspath: Seq[File],
      packageName: String,
      out: File,
      cacheDirectory: File): Seq[File] = {
    val whenChanged = FileFunction.cached(cacheDirectory, FileInfo.hash) { _: Set[File] =>
      val target = out / packageName.replace('.', '/')
      IO.delete(target)
      IO.createDirectory(target)
      val exit = Fork.java(
        // the generated files name the grammar as it is named here: no path of a machine
        ForkOptions().withWorkingDirectory(grammar.getParentFile),
        Seq(
          "-cp",
          toolClasspath.map(_.getAbsolutePath).mkString(java.io.File.pathSeparator),
          "org.antlr.v4.Tool",
          "-visitor",
          "-no-listener",
          "-Werror",
          "-package",
          packageName,
          "-o",
          target.getAbsolutePath,
          grammar.getName))
      if (exit != 0) sys.error(s"ANTLR failed on $grammar with exit code $exit")
      (target ** "*.java").get.toSet
    }
    whenChanged(Set(grammar)).toSeq
  }
}
