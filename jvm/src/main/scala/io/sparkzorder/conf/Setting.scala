// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.conf

import java.util.Locale
import java.util.concurrent.TimeUnit

import scala.util.Try

import org.apache.spark.network.util.JavaUtils
import org.apache.spark.sql.sparkzorder.SparkPrivate

import io.sparkzorder.errors.ZOrderErrors

/**
 * A setting. Its name is `spark.zorder.<key>` in the session, `zorder.<key>` among the properties of a table, and
 * `<key>` in OPTIONS.
 *
 * @param key name without prefix
 * @param default the default as a user would write it; None if the setting has no default
 * @param doc the description in the documentation
 * @param legal what a value must be, for error messages, as in "true or false"
 * @param scopes where the setting may be set
 * @param convert returns None, or throws any exception, if a value is not legal
 */
private[sparkzorder] final class Setting[T](
    val key: String,
    val default: Option[String],
    val doc: String,
    val legal: String,
    val scopes: Set[Setting.Scope],
    convert: String => Option[T]) {

  def sessionKey: String = Setting.SessionPrefix + key
  def propertyKey: String = Setting.PropertyPrefix + key

  /**
   * Parses a value.
   *
   * @param where the place in which the value was set, for the error message
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_INVALID_SETTING
   */
  def parse(text: String, where: String): T =
    converted(text)
      .getOrElse(throw ZOrderErrors.invalidSetting(where, text, s"it must be $legal"))

  private[conf] def isLegal(text: String): Boolean = converted(text).isDefined

  private def converted(text: String): Option[T] = Try(convert(text.trim)).toOption.flatten
}

private[sparkzorder] object Setting {
  val SessionPrefix = "spark.zorder."
  val PropertyPrefix = "zorder."

  sealed trait Scope
  case object Session extends Scope
  case object Table extends Scope
  case object Statement extends Scope
  val Everywhere: Set[Scope] = Set(Session, Table, Statement)

  def boolean(
      key: String,
      default: Boolean,
      doc: String,
      scopes: Set[Scope]): Setting[Boolean] =
    make(key, Some(default.toString), doc, "true or false", scopes) { s =>
      s.toLowerCase(Locale.ROOT) match {
        case "true" => Some(true)
        case "false" => Some(false)
        case _ => None
      }
    }

  def bytes(
      key: String,
      default: String,
      doc: String,
      scopes: Set[Scope]): Setting[Long] =
    make(key, Some(default), doc, "a positive size such as 128m or 1g", scopes) { s =>
      Some(JavaUtils.byteStringAsBytes(s)).filter(_ > 0)
    }

  /** A number of bytes, or a percentage of the maximum heap of the JVM. */
  def memory(
      key: String,
      default: String,
      doc: String,
      scopes: Set[Scope]): Setting[Long] =
    make(
      key,
      Some(default),
      doc,
      "a positive size such as 256m, or a share of the heap such as 10%",
      scopes) {
      case share(percent) =>
        Some(percent.toDouble).filter(p => p > 0 && p <= 100)
          .map(p => math.max(1L, (Runtime.getRuntime.maxMemory * (p / 100)).toLong))
      case s => Some(JavaUtils.byteStringAsBytes(s)).filter(_ > 0)
    }

  private val share = "(\\d+(?:\\.\\d+)?)\\s*%".r

  def millis(
      key: String,
      default: String,
      doc: String,
      scopes: Set[Scope]): Setting[Long] =
    make(key, Some(default), doc, "a duration such as 24h or 7d, at most 36500d", scopes) {
      s =>
        Some(JavaUtils.timeStringAs(s, TimeUnit.MILLISECONDS)).filter(ms =>
          ms >= 0 && ms <= longest)
    }

  // the present time plus or minus this duration still fits into a long of microseconds
  private val longest = TimeUnit.DAYS.toMillis(36500)

  def count(key: String, doc: String, scopes: Set[Scope]): Setting[Long] =
    make(key, None, doc, "a positive whole number", scopes)(s =>
      Some(s.toLong).filter(_ > 0))

  def oneOf(
      key: String,
      values: Seq[String],
      doc: String,
      scopes: Set[Scope],
      hasDefault: Boolean = true): Setting[String] =
    make(
      key,
      values.headOption.filter(_ => hasDefault),
      doc,
      values.mkString("one of ", ", ", ""),
      scopes) { s =>
      values.find(_.equalsIgnoreCase(s))
    }

  def text(
      key: String,
      default: Option[String],
      doc: String,
      scopes: Set[Scope]): Setting[String] =
    make(key, default, doc, "a text", scopes)(Some(_))

  private def make[T](
      key: String,
      default: Option[String],
      doc: String,
      legal: String,
      scopes: Set[Scope])(convert: String => Option[T]): Setting[T] = {
    val setting = new Setting[T](key, default, doc, legal, scopes, convert)
    if (scopes(Session)) {
      // SET then rejects wrong values, and `SET -v` lists the setting
      SparkPrivate.registerConf(setting.sessionKey, default, doc, legal, setting.isLegal)
    }
    setting
  }
}
