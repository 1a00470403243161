// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Paths}

import scala.collection.JavaConverters._

import com.tngtech.archunit.core.domain.JavaClasses
import com.tngtech.archunit.core.importer.ClassFileImporter
import com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses
import com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow

/**
 * The packages of the jar depend only on lower packages, in the order that docs/architecture.md
 * shows. The order is the same for every line of Spark, so one line is enough. The compiler of
 * Scala 2.13.8 crashes on the classes of ArchUnit.
 */
class LayersSuite extends AnyFunSuite {
  import LayersSuite._

  private lazy val classes: JavaClasses =
    new ClassFileImporter().importUrl(
      classOf[ZOrderExtensions].getProtectionDomain.getCodeSource.getLocation)

  test("every class is in a package of the list") {
    val known = order.map(fullName).toSet + bridges + generatedParser
    val found = classes.asScala.map(_.getPackageName).toSet
    assert((found -- known).isEmpty)
    assert((known -- found).isEmpty, "packages of the list that hold no class")
  }

  order.zipWithIndex.foreach { case (name, i) =>
    val above = order.drop(i + 1).map(fullName)
    if (above.nonEmpty) {
      test(s"nothing in '$name' depends on a package above") {
        noClasses().that().resideInAPackage(fullName(name))
          .should().dependOnClassesThat().resideInAnyPackage(above: _*)
          .check(classes)
      }
    }
  }

  test("what lies in Spark's own package depends on nothing of ours") {
    noClasses().that().resideInAPackage(bridges)
      .should().dependOnClassesThat().resideInAPackage("io.sparkzorder..")
      .check(classes)
  }

  // slow, because the quick tests above exclude cycles as well: a package uses only packages below it
  test("there is no cycle between packages", Slow) {
    slices().matching("io.sparkzorder.(**)").should().beFreeOfCycles().check(classes)
  }

  test("no folder has more than 20 files, and no file more than 500 lines") {
    val sources = Files.walk(Paths.get("jvm/src/main")).iterator.asScala
      .filter(_.toString.endsWith(".scala")).toSeq
    assert(sources.size > 150)
    sources.groupBy(_.getParent).foreach { case (folder, files) =>
      assert(files.size <= 20, folder)
    }
    sources.foreach(f => assert(Files.readAllLines(f, UTF_8).size <= 500, f))
  }

  test("the table in docs/architecture.md has the same order") {
    val lines = Files.readAllLines(Paths.get("docs/architecture.md"), UTF_8).asScala
    val table = lines.dropWhile(!_.startsWith("| package |")).drop(2).takeWhile(_.startsWith("|"))
    val packages = table.map(_.split('|')(1).trim).filter(_.startsWith("`")).map(_.replace("`", ""))
    assert(packages === order.init)
  }
}

object LayersSuite {

  /** Below `io.sparkzorder`, lowest first; the last is `io.sparkzorder` itself. */
  val order: Seq[String] = Seq(
    "util",
    "errors",
    "conf",
    "bits",
    "ordering",
    "plans",
    "expressions.sampling",
    "expressions",
    "table",
    "table.stats",
    "table.schema",
    "cluster",
    "write",
    "log",
    "log.publish",
    "snapshot",
    "ordered.grid",
    "ordered",
    "index.values",
    "index",
    "skipping.values",
    "skipping.predicate",
    "workload",
    "skipping.scan",
    "skipping.dynamic",
    "report",
    "commands",
    "commands.auto",
    "sources",
    "sources.scans",
    "sources.delta",
    "sources.iceberg",
    "sources.plain",
    "rewrite",
    "commands.layout",
    "commands.history",
    "commands.index",
    "sql",
    "")

  /** Gives access to private members of Spark. */
  private val bridges = "org.apache.spark.sql.sparkzorder"

  /** Made by ANTLR from the grammar. */
  private val generatedParser = "io.sparkzorder.sql.parser"

  private def fullName(name: String): String =
    if (name.isEmpty) "io.sparkzorder" else s"io.sparkzorder.$name"
}
