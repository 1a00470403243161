// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.errors

import java.io.File
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Files

import scala.collection.JavaConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.scalatest.funsuite.AnyFunSuite

class ErrorConditionsSuite extends AnyFunSuite {

  private val conditions: JsonNode = {
    val in = getClass.getResourceAsStream("/io/sparkzorder/zorder-error-conditions.json")
    try new ObjectMapper().readTree(in)
    finally in.close()
  }

  private val names: Seq[String] = conditions.fieldNames().asScala.toList

  private def message(condition: String): String =
    conditions.get(condition).get("message").asScala.map(_.asText).mkString("\n")

  // the parameters that Spark's reader replaces
  private val placeholder = "<([a-zA-Z0-9_-]+)>".r

  /** The root of the repository, whatever the working directory of the tests is. */
  private val root: File = Iterator.iterate(new File(".").getAbsoluteFile)(_.getParentFile)
    .takeWhile(_ != null).find(d => new File(d, "jvm/src/main/scala").isDirectory).get

  private def sources(folder: String): Map[String, String] = {
    val dir = new File(root, folder).toPath
    if (!Files.isDirectory(dir)) Map.empty
    else {
      val stream = Files.walk(dir)
      try stream.iterator().asScala.filter(p => p.toString.matches(".*\\.(scala|py)"))
          .map(p => p.getFileName.toString -> new String(Files.readAllBytes(p), UTF_8)).toMap
      finally stream.close()
    }
  }

  private val main = sources("jvm/src/main")
  private val factories = main("ZOrderErrors.scala")

  test("names are sorted, ours, and upper snake case") {
    assert(names === names.sorted)
    names.foreach(n => assert(n.matches("ZORDER(_[A-Z]+)+"), n))
  }

  test("SQLSTATE has five characters; messages are sentences") {
    names.foreach { name =>
      assert(ErrorConditions.sqlState(name).matches("[0-9A-Z]{5}"), name)
      val text = message(name)
      assert(text.endsWith(".") || text.endsWith(">"), name)
      // render must replace every name in angle brackets
      val parameters = placeholder.findAllMatchIn(text).map(_.group(1)).toSeq
      assert("<[^>]*>".r.findAllIn(text).toSeq === parameters.map(p => s"<$p>"), name)
      val rendered = ErrorConditions.render(name, parameters.map(_ -> "v").toMap)
      assert(!rendered.contains('<') && !rendered.contains("${"), rendered)
    }
  }

  test("every condition has one factory that main code uses") {
    val methods = "(?s)  def (\\w+)\\((.*?)\\): ZOrderException =(.*?)(?=\n\n|\n\\})".r
      .findAllMatchIn(factories).map(m => m.group(1) -> m.group(3)).toSeq
    val conditionOf = methods.map { case (method, body) =>
      method -> "ZORDER_[A-Z_]+".r.findAllIn(body).toSeq
    }
    conditionOf.foreach { case (method, found) => assert(found.size === 1, method) }
    assert(conditionOf.map(_._2.head).sorted === names)
    for ((method, _) <- methods) {
      val users = main.filter { case (file, text) =>
        file != "ZOrderErrors.scala" && text.contains(s"ZOrderErrors.$method(")
      }
      assert(users.nonEmpty, s"nobody uses $method")
    }
  }

  test("every parameter is in its message, and the other way round") {
    val calls = "\"(ZORDER_[A-Z_]+)\"(.*?)(?=\n\n|\n\\})".r.pattern
    val matcher = java.util.regex.Pattern.compile(calls.pattern, java.util.regex.Pattern.DOTALL)
      .matcher(factories)
    var checked = 0
    while (matcher.find()) {
      val passed = "\"(\\w+)\" ->".r.findAllMatchIn(matcher.group(2)).map(_.group(1)).toSet
      val wanted =
        placeholder.findAllMatchIn(message(matcher.group(1))).map(_.group(1)).toSet
      assert(passed === wanted, matcher.group(1))
      checked += 1
    }
    assert(checked === names.size)
  }

  test("rendering: condition, text and SQLSTATE; values stay as they are") {
    val e = ZOrderErrors.invalidSetting("k<value>", "$1 \\ <problem>", "it <key>")
    assert(e.getMessage.startsWith("[ZORDER_INVALID_SETTING] The value '$1 \\ <problem>' of " +
      "k<value> is not valid: it <key>."))
    assert(e.getMessage.contains("SQLSTATE: 22023"))
    assert(e.getSqlState === "22023")
    assert(e.getMessageParameters.asScala("value") === "$1 \\ <problem>")
    val cause = new java.io.IOException("first\nsecond")
    val unreadable = ZOrderErrors.fileUnreadable("f", cause, "Parquet")
    assert(unreadable.getCause === cause && unreadable.getMessage.contains("first.") &&
      !unreadable.getMessage.contains("second"))
    for (none <- Seq(null, "", "\n \n")) {
      assert(ZOrderErrors.firstLine(new RuntimeException(none)) === "RuntimeException")
    }
    // as of Spark's parser
    assert(ZOrderErrors.firstLine(new RuntimeException("\n[X] text\n== SQL ==")) === "[X] text")
    assert(ZOrderErrors.fileUnreadable("f", new RuntimeException, "ORC").getMessage
      .contains("RuntimeException"))
  }

  test("every condition is asserted by name in some test") {
    val tests = sources("jvm/src/test") ++ sources("tests") - "ErrorConditionsSuite.scala"
    names.foreach(n => assert(tests.exists(_._2.contains("\"" + n + "\"")), n))
  }
}
