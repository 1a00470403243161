// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Paths}

import scala.collection.JavaConverters._
import scala.reflect.runtime.{universe => ru}

import org.scalatest.funsuite.AnyFunSuite

/**
 * What Scala programs can call is what `public-api.txt` lists: a change of that file is a change of
 * the public interface, and is reviewed as such. Scala's own view of the classes is compared,
 * because `private[sparkzorder]` is public in class files. The interface is the same for every line
 * of Spark, so one line is enough.
 */
class PublicApiSuite extends AnyFunSuite {
  import PublicApiSuite._

  test("public classes and methods are those of public-api.txt") {
    val found = header +: (apiLines ++ (marker +: otherClasses))
    if (sys.env.contains("WRITE_PUBLIC_API")) Files.write(list, found.asJava, UTF_8)
    val listed = Files.readAllLines(list, UTF_8).asScala.toSeq
    assert(
      (found.diff(listed), listed.diff(found)) === ((Nil, Nil)),
      "(new, gone); if this is meant, run with WRITE_PUBLIC_API=1 and review the file")
    assert(found === listed)
  }

  test("docs/public-api.md names every class that users may call") {
    val page = new String(Files.readAllBytes(Paths.get("docs/public-api.md")), UTF_8)
    val names = apiLines.filterNot(_.startsWith(" ")).map(_.split(' ')(1)).distinct
    assert(names.nonEmpty && names.filterNot(n => page.contains(s"`$n`")) === Nil)
  }
}

object PublicApiSuite {
  private val list = Paths.get("jvm/src/test/resources/public-api.txt")

  private val header =
    "# For users. Written by: WRITE_PUBLIC_API=1 build/sbt 'spark41/testOnly *PublicApiSuite'"
  private val marker =
    "# Not for users, and to become private[sparkzorder]. Nothing is added here."

  /** The public types of `io.sparkzorder`, each with its public members. */
  private lazy val apiLines: Seq[String] =
    publicTypes.filter(_.owner.fullName == "io.sparkzorder").flatMap(s => describe(s) +: members(s))

  private lazy val otherClasses: Seq[String] =
    publicTypes.filter(_.owner.fullName != "io.sparkzorder").map(describe)

  private def describe(s: ru.Symbol): String = {
    val kind = if (s.isModule) "object" else if (s.asClass.isTrait) "trait" else "class"
    s"$kind ${s.fullName}"
  }

  private def members(s: ru.Symbol): Seq[String] =
    s.info.decls.toSeq
      .filter(m => m.isPublic && !m.isSynthetic && (m.isMethod || m.isType || m.isModule))
      // nobody calls the constructor of an object
      .filterNot(m => s.isModule && m.isConstructor)
      .map(m => s"  ${m.name.decodedName}${if (m.isMethod) signature(m.asMethod) else ""}")
      .sorted

  private def signature(m: ru.MethodSymbol): String =
    (if (m.paramLists.isEmpty) ": " else "") + m.info

  private lazy val publicTypes: Seq[ru.Symbol] = {
    val mirror = ru.runtimeMirror(getClass.getClassLoader)
    val types = for {
      (pkg, name) <- topLevelClasses
      owner = mirror.staticPackage(pkg).info
      s <- Seq(owner.decl(ru.TermName(name)), owner.decl(ru.TypeName(name)))
      // the class file of an object alone looks like a class until it is read
      if s.info != ru.NoType && s.isPublic && (s.isClass || s.isModule)
      // of a class from Java, the object that holds the static members
      if !(s.isModule && s.isJava)
    } yield s
    types.sortBy(s => (s.fullName, s.isModule))
  }

  /** Package and name of each class of the jar that is in no other class. */
  private def topLevelClasses: Seq[(String, String)] = {
    val jar = classOf[ZOrderExtensions].getProtectionDomain.getCodeSource.getLocation
    val root = Paths.get(jar.toURI)
    val files = Files.walk(root)
    try {
      files.iterator().asScala.map(root.relativize).map(_.toString)
        .filter(f => f.endsWith(".class") && !f.contains('$'))
        // made by ANTLR from the grammar
        .filterNot(_.startsWith("io/sparkzorder/sql/parser/"))
        .map(_.stripSuffix(".class").replace('/', '.'))
        .map(n => (n.take(n.lastIndexOf('.')), n.drop(n.lastIndexOf('.') + 1)))
        .toList.sorted
    } finally files.close()
  }
}
