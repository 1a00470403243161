// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.conf

import java.util.Locale

import org.apache.spark.sql.internal.SQLConf

import io.sparkzorder.conf.Setting._
import io.sparkzorder.errors.ZOrderErrors

/** All settings of spark-zorder. */
private[sparkzorder] object Settings {
  val Enabled: Setting[Boolean] =
    boolean(
      "enabled",
      default = true,
      "Whether spark-zorder changes the plans of queries. If false, none of its rules run.",
      Set(Session))

  val Columns: Setting[String] =
    text(
      "columns",
      None,
      "Ordering columns of the table, separated by commas: the declared order of writes. " +
        "OPTIMIZE without ZORDER BY uses them if the table has no layout yet.",
      Set(Table))

  val Weights: Setting[String] =
    text(
      "weights",
      None,
      "How many point queries there are on each ordering column, compared with the others, as in " +
        "a:3,b:1. A column that is not named has the weight 1.",
      Set(Statement))

  val TargetFileSize: Setting[Long] =
    bytes(
      "targetFileSize",
      "128m",
      "Size of the data files that OPTIMIZE writes. A run by the columns of the table's layout keeps " +
        "the size of the layout, unless OPTIONS name another.",
      Everywhere)

  val SampleRows: Setting[Long] =
    count(
      "sampleRows",
      "Number of rows to sample. If unset, the number of files determines it.",
      Everywhere)

  val BatchSize: Setting[Long] =
    bytes(
      "batchSize",
      "64g",
      "Maximum size of the input files that OPTIMIZE rewrites in one commit.",
      Everywhere)

  val Retention: Setting[Long] =
    millis(
      "retention",
      "24h",
      "How long OPTIMIZE keeps replaced files for UNDO LAYOUT and for queries that still read them.",
      Everywhere)

  val Verify: Setting[String] =
    oneOf(
      "verify",
      Seq("footer", "full"),
      "How OPTIMIZE compares the rewritten files with their inputs before the commit. footer: by " +
        "their footers. full: by a checksum over all columns, too.",
      Everywhere)

  val TimestampType: Setting[String] =
    oneOf(
      "timestampType",
      Seq("micros", "preserve"),
      "Type of rewritten INT96 columns. micros: TIMESTAMP_MICROS, which has min/max. preserve: " +
        "INT96. Tables in Hive's format have preserve as their default.",
      Everywhere)

  val AllowTypeChange: Setting[Boolean] =
    boolean(
      "allowTypeChange",
      default = false,
      "Whether OPTIMIZE may rewrite a column whose stored type Spark's writer changes, and lose " +
        "data that files hold outside of their columns.",
      Everywhere)

  val ReusedNames: Setting[String] =
    oneOf(
      "reusedNames",
      Seq("refuse", "append"),
      "What OPTIMIZE does with a file that has the name of a file that it replaced. refuse: an " +
        "error, because a program may have written the file again to correct its rows. append: the " +
        "rows are new ones.",
      Everywhere)

  val PublishRename = "rename"
  val PublishShadow = "shadow"

  val Publish: Setting[String] =
    oneOf(
      "publish",
      Seq(PublishRename, PublishShadow),
      "How the files that OPTIMIZE writes come to be read. rename: they take the names and the place of " +
        "the old files, for every reader. shadow: they stay hidden beside the old files, and only " +
        "sessions with spark-zorder read them; no other file is touched. If unset: rename on the schemes " +
        "of inPlaceSchemes, except on ABFS without a hierarchical namespace; shadow elsewhere.",
      Everywhere,
      hasDefault = false)

  val InPlaceSchemes: Setting[String] =
    text(
      "inPlaceSchemes",
      Some("file,hdfs,viewfs,abfs,abfss"),
      "Schemes of the file systems on which OPTIMIZE may replace files in place.",
      Set(Session, Statement))

  val SkippingEnabled: Setting[Boolean] =
    boolean(
      "skipping.enabled",
      default = true,
      "Whether queries skip files by the skipping index.",
      Set(Session))

  val SkippingDynamic: Setting[Boolean] =
    boolean(
      "skipping.dynamic",
      default = true,
      "Whether queries also skip files by the keys that joins and subqueries find while the query " +
        "runs.",
      Set(Session))

  val SkippingCacheSize: Setting[Long] =
    memory(
      "skipping.cacheSize",
      "10%",
      "Maximum memory for loaded skipping indexes: a size, or a share of the driver's heap.",
      Set(Session))

  val IndexValues: Setting[String] =
    text(
      "index.values",
      None,
      "Columns whose values the skipping index holds, separated by commas. A new index takes " +
        "this list, unless CREATE ZORDER INDEX names another. REFRESH ZORDER INDEX takes it if " +
        "the index has no list yet. An index that has a list keeps it.",
      Set(Table))

  val Order: Setting[String] =
    oneOf(
      "order",
      Seq("zorder", "lexical", "auto"),
      "The declared order of writes into a table with ordering columns, as SORT BY sets it. " +
        "zorder: by all columns together. lexical: by the first column, then by the second. auto, " +
        "without columns: OPTIMIZE chooses them by the recorded workload.",
      Set(Table))

  val WriteAuto = "auto"
  val WriteNone = "none"
  val WriteSort = "sort"
  val WriteCells = "cells"
  val WriteSampled = "sampled"

  val Write: Setting[String] =
    oneOf(
      "write",
      Seq(WriteAuto, WriteNone, WriteSort, WriteCells, WriteSampled),
      "How rows are ordered when they are written into a table with a declared order. sort: each " +
        "task sorts its rows. cells: one shuffle deals the rows to the cells of the grid that the " +
        "last OPTIMIZE has left. sampled: one shuffle deals the rows by a sample of themselves, for " +
        "which the rows are read twice. auto: cells for a write of at least four files if a grid " +
        "is stored, else sort. none: rows are written as they come.",
      Set(Session, Table))

  val WorkloadEnabled: Setting[Boolean] =
    boolean(
      "workload.enabled",
      default = false,
      "Whether scans of the table are noted, without values, for ZORDER BY AUTO.",
      Set(Session, Table))

  val WorkloadExclude: Setting[String] =
    text(
      "workload.exclude",
      None,
      "Columns, separated by commas, of which the record of the workload notes nothing.",
      Set(Table))

  val FormatOwn = "own"

  val FormatsIceberg: Setting[String] =
    oneOf(
      "formats.iceberg",
      Seq(FormatOwn, "delegate"),
      "How OPTIMIZE rewrites Iceberg tables. own: with the layout of spark-zorder, by a commit of " +
        "Iceberg. delegate: not at all; the error names the procedure of Iceberg.",
      Set(Session, Table))

  val FormatsDelta: Setting[String] =
    oneOf(
      "formats.delta",
      Seq(FormatOwn, "delegate"),
      "How OPTIMIZE rewrites Delta tables. own: with the layout of spark-zorder, by a commit of " +
        "Delta. delegate: by Delta's own OPTIMIZE.",
      Set(Session, Table))

  val SkippingDelta: Setting[String] =
    oneOf(
      "skipping.delta",
      Seq(FormatOwn, "off"),
      "Whether queries skip files of Delta tables by the keys of joins, the values of subqueries, lists of " +
        "values and functions of columns. own: by the bounds that Delta keeps. off: Delta alone decides " +
        "which files are read.",
      Set(Session, Table))

  val SkippingIceberg: Setting[String] =
    oneOf(
      "skipping.iceberg",
      Seq(FormatOwn, "off"),
      "Whether queries skip files of Iceberg tables by the keys of joins, the values of subqueries " +
        "and functions of columns. own: by the bounds that Iceberg keeps. off: Iceberg alone decides which " +
        "files are read.",
      Set(Session, Table))

  val all: Seq[Setting[_]] = Seq(
    Enabled,
    Columns,
    Order,
    Write,
    Weights,
    TargetFileSize,
    SampleRows,
    BatchSize,
    Retention,
    Verify,
    TimestampType,
    AllowTypeChange,
    ReusedNames,
    Publish,
    InPlaceSchemes,
    SkippingEnabled,
    SkippingDynamic,
    SkippingCacheSize,
    IndexValues,
    SkippingDelta,
    SkippingIceberg,
    WorkloadEnabled,
    WorkloadExclude,
    FormatsIceberg,
    FormatsDelta)

  /** The current session's value of a setting that has a default. */
  def ofSession[T](setting: Setting[T]): T = resolve(setting, Map.empty)

  /**
   * The value of a setting that has a default, for a query or a write: the table's property, else the setting of the
   * current session, else the default. Our statements use the class [[Settings]] instead.
   *
   * @param properties of the table
   */
  def resolve[T](setting: Setting[T], properties: Map[String, String]): T =
    properties.get(setting.propertyKey) match {
      case Some(text) => setting.parse(text, setting.propertyKey)
      case None =>
        setting.parse(
          SQLConf.get.getConfString(setting.sessionKey, setting.default.get),
          setting.sessionKey)
    }

  /**
   * Registers the settings with Spark, so that SET checks their values. A setting registers itself when it is created.
   * So this call only has to load the object.
   */
  def register(): Unit = require(all.nonEmpty)
}

/**
 * The settings of one statement on one table. OPTIONS take precedence over the table's layout, the layout
 * over table properties, table properties over session settings, and session settings over defaults.
 *
 * @param options OPTIONS of the statement
 * @param properties all properties of the table; only keys that begin with `zorder.` are used
 * @param session configuration of the session; only keys that begin with `spark.zorder.` are used
 * @param defaults defaults for this kind of table, by key; they replace the general defaults
 * @param layoutSize `targetFileSize` of the layout that the statement keeps, in bytes
 */
private[sparkzorder] final class Settings(
    options: Map[String, String],
    properties: Map[String, String],
    session: Map[String, String],
    defaults: Map[String, String] = Map.empty,
    layoutSize: Option[Long] = None) {

  checkKeys(Statement, options.keys, "")
  checkKeys(Table, properties.keys.filter(_.startsWith(PropertyPrefix)), PropertyPrefix)
  checkKeys(Session, session.keys.filter(_.startsWith(SessionPrefix)), SessionPrefix)

  private val byOption = options.map { case (k, v) => k.toLowerCase(Locale.ROOT) -> v }

  /** The effective value; None if the setting is not set and has no default. */
  def get[T](setting: Setting[T]): Option[T] =
    byOption
      .get(setting.key.toLowerCase(Locale.ROOT))
      .orElse(layoutSize.filter(_ => setting == Settings.TargetFileSize).map(_.toString))
      .map(setting.parse(_, setting.key))
      .orElse(properties.get(setting.propertyKey).map(setting.parse(_, setting.propertyKey)))
      .orElse(session.get(setting.sessionKey).map(setting.parse(_, setting.sessionKey)))
      .orElse(defaults.get(setting.key).orElse(setting.default).map(setting.parse(_, setting.key)))

  def apply[T](setting: Setting[T]): T =
    get(setting).getOrElse(throw new NoSuchElementException(setting.key))

  /** The settings of a statement that keeps a layout with files of this size. */
  def keeping(size: Option[Long]): Settings =
    new Settings(options, properties, session, defaults, size)

  /** Why the new files do not have the size that a property or the session names; None if they have this size. */
  def sizeKept: Option[String] =
    layoutSize.filter(apply(Settings.TargetFileSize) == _).flatMap { size =>
      val wanted = keeping(None)
      val isNamed = properties.contains(Settings.TargetFileSize.propertyKey) ||
        session.contains(Settings.TargetFileSize.sessionKey)
      if (!isNamed || wanted(Settings.TargetFileSize) == size) None
      else Some(
        s"files keep the size of the layout, $size bytes; targetFileSize in OPTIONS changes it")
    }

  /** Parses all values, so that a wrong value fails before the statement does anything. */
  def validate(): this.type = {
    Settings.all.foreach(get(_))
    this
  }

  private def checkKeys(scope: Scope, keys: Iterable[String], prefix: String): Unit = {
    val known = Settings.all.filter(_.scopes(scope)).map(_.key)
    keys.foreach { key =>
      val name = key.stripPrefix(prefix)
      // as everywhere in Spark, OPTIONS ignore case, but properties and session settings do not
      val found =
        if (scope == Statement) known.exists(_.equalsIgnoreCase(name)) else known.contains(name)
      if (!found) throw ZOrderErrors.unknownSetting(key, known.map(prefix + _))
    }
  }
}
