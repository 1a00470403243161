// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.tpc

import scala.util.Random
import scala.util.matching.Regex

/**
 * The queries of TPC-DS with other parameters. The artifact of Spark has one set of parameters, so a
 * seed changes those that decide which rows of a fact table a query needs: years, months, and numbers
 * of manufacturers and managers, within the ranges of the specification. Of TPC-H, the years of all
 * dates are moved together. Seed 0 is the text as it is.
 */
object QueryVariants {
  private val year = "\\b(1998|1999|2000|2001|2002)\\b".r
  private val monthSequence = "\\b(1[12]\\d\\d)\\b".r
  private val month = "(?i)(d_moy\\s*=\\s*)(\\d+)".r
  private val number = "(?i)(i_manufact_id|i_manager_id)(\\s*=\\s*)(\\d+)".r
  private val FirstMonth = 1176
  private val yearOfOrders = "\\b(199[2-8])\\b".r
  private val orders = "(?i)\\b(o_orderdate|l_\\w+date)\\b".r

  def of(query: TpcQuery, seed: Int): TpcQuery =
    if (seed == 0) query
    else if (orders.findFirstIn(query.text).isDefined) {
      val random = new Random(seed * 1000003L + query.name.hashCode)
      val years = yearOfOrders.findAllIn(query.text).map(_.toInt).toSeq
      if (years.isEmpty || years.max > 1997) query
      else {
        val least = 1993 - years.min
        val by = least + random.nextInt(math.max(1, 1997 - years.max - least + 1))
        query.copy(text = replaced(yearOfOrders, query.text)(m => s"${m.group(1).toInt + by}"))
      }
    } else {
      val random = new Random(seed * 1000003L + query.name.hashCode)
      // the 29th of February has no counterpart in other years
      val years = if (query.text.contains("02-29")) 0 else random.nextInt(5)
      val moved =
        replaced(year, query.text)(m => s"${1998 + (m.group(1).toInt - 1998 + years) % 5}")
      val sequences =
        if (!moved.contains("d_month_seq")) moved
        else {
          replaced(monthSequence, moved) { m =>
            val n = m.group(1).toInt - FirstMonth
            if (n < 0 || n >= 60) m.group(1) else s"${FirstMonth + (n + 12 * years) % 60}"
          }
        }
      val months = replaced(month, sequences) { m =>
        // sales differ between these parts of a year, and the specification keeps them apart
        val part = m.group(2).toInt match {
          case n if n <= 7 => 1 to 7
          case n if n <= 10 => 8 to 10
          case _ => 11 to 12
        }
        s"${m.group(1)}${part(random.nextInt(part.size))}"
      }
      query.copy(text = replaced(number, months) { m =>
        val most =
          if (m.group(1).toLowerCase(java.util.Locale.ROOT) == "i_manager_id") 100 else 1000
        s"${m.group(1)}${m.group(2)}${1 + random.nextInt(most)}"
      })
    }

  private def replaced(pattern: Regex, text: String)(by: Regex.Match => String): String =
    pattern.replaceAllIn(text, m => Regex.quoteReplacement(by(m)))
}
