// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.expressions

import org.apache.spark.sql.execution.HiveResult

import io.sparkzorder.{functions, ZOrderSessionSuite}

/** The SQL documentation of the functions is complete, and its examples return what they show. */
class FunctionExamplesSuite extends ZOrderSessionSuite {

  private val example = "(?s)> (.+?);\\n(.*?)(?=\\n\\s*> |\\z)".r

  for ((name, info, _) <- ZOrderFunctions.all) {
    test(s"the examples of $name") {
      val examples = example.findAllMatchIn(info.getExamples).toSeq
      assert(examples.nonEmpty)
      for (e <- examples) {
        val query = e.group(1).replace("_FUNC_", name.funcName)
        val expected = e.group(2).split("\n").map(_.trim).filter(_.nonEmpty).toSeq
        val plan = spark.sql(query).queryExecution.executedPlan
        assert(HiveResult.hiveResultString(plan) === expected, query)
      }
    }

    test(s"the description of $name") {
      assert(info.getUsage.contains(name.funcName + "("))
      assert(info.getArguments.nonEmpty && info.getNote.nonEmpty && info.getSince === "0.3.0")
      assert(Set("bitwise_funcs", "misc_funcs").contains(info.getGroup))
      val shown = sql(s"DESCRIBE FUNCTION EXTENDED ${name.funcName}").collect().mkString
      assert(shown.contains(info.getClassName))
    }

    test(s"$name is in the Scala API") {
      assert(functions.getClass.getMethods.exists(_.getName == name.funcName))
    }
  }
}
