package io.sparkzorder.conf

import java.util.Locale

import org.apache.spark.sql.internal.SQLConf

import io.sparkzorder.conf.Setting._
import io.sparkzorder.errors.ZOrderErrors

/** Every setting, once. */
object Settings {
  val Enabled: Setting[Boolean] =
    boolean("enabled", default = true, "Off: not even the rules of spark-zorder run.", Set(Session))

  val Columns: Setting[String] =
    text("columns", None, "Ordering columns of the table, separated by commas.", Set(Table))

  val TargetFileSize: Setting[Long] =
    bytes("targetFileSize", "128m", "Bytes of a data file.", Everywhere)

  val SampleRows: Setting[Long] =
    count("sampleRows", "Key rows that are sampled; by the number of files when unset.", Everywhere)

  val BatchSize: Setting[Long] =
    bytes("batchSize", "64g", "Input bytes that are rewritten and committed at once.", Everywhere)

  val Retention: Setting[Long] =
    millis(
      "retention",
      "24h",
      "How long replaced files are kept for UNDO and for running queries.",
      Everywhere)

  val Verify: Setting[String] =
    oneOf(
      "verify",
      Seq("footer", "full"),
      "How rewritten files are compared with their inputs before the commit.",
      Everywhere)

  val TimestampType: Setting[String] =
    oneOf(
      "timestampType",
      Seq("micros", "preserve"),
      "micros: INT96 inputs become TIMESTAMP_MICROS, which has min/max; preserve: they stay, " +
        "as in tables in Hive's format where nothing is set.",
      Everywhere)

  val AllowTypeChange: Setting[Boolean] =
    boolean(
      "allowTypeChange",
      default = false,
      "Go on where Spark's writer would change the stored type of a column.",
      Everywhere)

  val InPlaceSchemes: Setting[String] =
    text(
      "inPlaceSchemes",
      Some("file,hdfs,viewfs,abfs,abfss"),
      "File systems on which files may be replaced in place.",
      Set(Session, Statement))

  val SkippingEnabled: Setting[Boolean] =
    boolean("skipping.enabled", default = true, "Pruning by the skipping index.", Set(Session))

  val SkippingMetricsScan: Setting[Boolean] =
    boolean(
      "skipping.metricsScan",
      default = true,
      "Off: Spark's own scan node stays, which accelerators know by its class. It reads the same " +
        "files; EXPLAIN and the UI have no numbers of skipping then.",
      Set(Session))

  val SkippingCacheSize: Setting[Long] =
    bytes("skipping.cacheSize", "256m", "Memory for loaded skipping indexes.", Set(Session))

  val all: Seq[Setting[_]] = Seq(
    Enabled,
    Columns,
    TargetFileSize,
    SampleRows,
    BatchSize,
    Retention,
    Verify,
    TimestampType,
    AllowTypeChange,
    InPlaceSchemes,
    SkippingEnabled,
    SkippingMetricsScan,
    SkippingCacheSize)

  /** The value that the current session has of a setting with a default. */
  def ofSession[T](setting: Setting[T]): T =
    setting.parse(
      SQLConf.get.getConfString(setting.sessionKey, setting.default.get),
      setting.sessionKey)

  /** Makes sure that the session knows the settings, so that SET checks them: loading does it. */
  def register(): Unit = require(all.nonEmpty)
}

/**
 * The settings of one statement on one table: OPTIONS before table property before session before
 * default.
 *
 * @param options OPTIONS of the statement
 * @param properties properties of the table, all of them; those of `zorder.` count
 * @param session configuration of the session; those of `spark.zorder.` count
 * @param defaults what is in force for this kind of table when nothing is set, by key
 */
final class Settings(
    options: Map[String, String],
    properties: Map[String, String],
    session: Map[String, String],
    defaults: Map[String, String] = Map.empty) {

  checkKeys(Statement, options.keys, "")
  checkKeys(Table, properties.keys.filter(_.startsWith(PropertyPrefix)), PropertyPrefix)
  checkKeys(Session, session.keys.filter(_.startsWith(SessionPrefix)), SessionPrefix)

  private val byOption = options.map { case (k, v) => k.toLowerCase(Locale.ROOT) -> v }

  /** The value in force, or None when it is set nowhere and has no default. */
  def get[T](setting: Setting[T]): Option[T] =
    byOption
      .get(setting.key.toLowerCase(Locale.ROOT))
      .filter(_ => setting.scopes(Statement))
      .map(setting.parse(_, setting.key))
      .orElse(properties.get(setting.propertyKey).map(setting.parse(_, setting.propertyKey)))
      .orElse(session.get(setting.sessionKey).map(setting.parse(_, setting.sessionKey)))
      .orElse(defaults.get(setting.key).orElse(setting.default).map(setting.parse(_, setting.key)))

  def apply[T](setting: Setting[T]): T =
    get(setting).getOrElse(throw new NoSuchElementException(setting.key))

  /** Parses every value that is set, so that a wrong one fails before anything is done. */
  def validate(): this.type = {
    Settings.all.foreach(get(_))
    this
  }

  private def checkKeys(scope: Scope, keys: Iterable[String], prefix: String): Unit = {
    val known = Settings.all.filter(_.scopes(scope)).map(_.key)
    keys.foreach { key =>
      val name = key.stripPrefix(prefix)
      // OPTIONS are case-insensitive as everywhere in Spark; properties and settings are not
      val found =
        if (scope == Statement) known.exists(_.equalsIgnoreCase(name)) else known.contains(name)
      if (!found) throw ZOrderErrors.unknownSetting(key, known.map(prefix + _))
    }
  }
}
