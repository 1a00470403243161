// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.conf

import java.io.File

import io.sparkzorder.commands.OptimizeTestBase
import io.sparkzorder.errors.ZOrderException

class SettingsSuite extends OptimizeTestBase {

  private def settings(
      options: Map[String, String] = Map.empty,
      properties: Map[String, String] = Map.empty,
      session: Map[String, String] = Map.empty) = new Settings(options, properties, session)

  test("OPTIONS before table property before session before default") {
    val session = Map("spark.zorder.targetFileSize" -> "1k", "spark.sql.shuffle.partitions" -> "x")
    val table = Map("zorder.targetFileSize" -> "2k", "comment" -> "x", "zorder" -> "x")
    val options = Map("TARGETFILESIZE" -> "3k")
    val size = Settings.TargetFileSize
    assert(settings(options, table, session)(size) === 3072)
    assert(settings(Map.empty, table, session)(size) === 2048)
    assert(settings(Map.empty, Map.empty, session)(size) === 1024)
    assert(settings()(size) === (128L << 20))
    assert(settings(options, Map.empty, session)(size) === 3072)
  }

  test("the defaults are those of the documentation") {
    val s = settings()
    assert(s(Settings.Enabled) === true)
    assert(s.get(Settings.Columns) === None && s.get(Settings.SampleRows) === None)
    assert(s(Settings.BatchSize) === (64L << 30))
    assert(s(Settings.Retention) === 24L * 3600 * 1000)
    assert(s(Settings.Verify) === "footer")
    assert(s(Settings.TimestampType) === "micros")
    assert(s(Settings.AllowTypeChange) === false)
    assert(s(Settings.InPlaceSchemes) === "file,hdfs,viewfs,abfs,abfss")
    assert(s(Settings.SkippingEnabled) === true)
    assert(s(Settings.SkippingCacheSize) === Runtime.getRuntime.maxMemory / 10)
    assert(Settings.all.map(_.key).distinct.size === Settings.all.size)
    // a statement refuses a session with a setting that the list lacks
    val declared = Settings.getClass.getMethods.toSeq
      .filter(m => m.getParameterCount == 0 && m.getReturnType == classOf[Setting[_]])
      .map(_.invoke(Settings).asInstanceOf[Setting[_]].key)
    assert(declared.toSet === Settings.all.map(_.key).toSet)
    Settings.all.foreach(x => assert(x.doc.endsWith(".") && x.legal.nonEmpty, x.key))
  }

  test("values are read with units, in any case, with blanks around") {
    def of(key: String, value: String) = settings(Map(key -> value)).validate()
    assert(of("retention", "7d")(Settings.Retention) === 7L * 86400000)
    assert(of("retention", "0")(Settings.Retention) === 0)
    assert(of("verify", " FULL ")(Settings.Verify) === "full")
    assert(of("allowTypeChange", "TRUE")(Settings.AllowTypeChange) === true)
    assert(of("sampleRows", "500")(Settings.SampleRows) === 500)
    assert(of("targetFileSize", "1g")(Settings.TargetFileSize) === (1L << 30))
  }

  private val wrong = Seq(
    ("targetFileSize", Seq("0", "-1m", "abc", ""), "a positive size such as 128m or 1g"),
    ("sampleRows", Seq("0", "-5", "1.5", "many"), "a positive whole number"),
    ("batchSize", Seq("0", "x"), "a positive size"),
    ("retention", Seq("-1h", "soon"), "a duration such as 24h or 7d"),
    ("verify", Seq("no", ""), "one of footer, full"),
    ("timestampType", Seq("nanos"), "one of micros, preserve"),
    ("allowTypeChange", Seq("yes", "1"), "true or false"))

  private def raised(body: => Any): ZOrderException = intercept[ZOrderException](body)

  test("a wrong value in each scope names key, value and what is legal") {
    for ((key, values, legal) <- wrong; value <- values) {
      val byScope = Seq(
        key -> (() => settings(options = Map(key -> value))),
        s"zorder.$key" -> (() => settings(properties = Map(s"zorder.$key" -> value))),
        s"spark.zorder.$key" -> (() => settings(session = Map(s"spark.zorder.$key" -> value))))
      for ((where, made) <- byScope) {
        val e = raised(made().validate())
        fails("ZORDER_INVALID_SETTING", s"'$value'", s" of $where ", legal)(throw e)
        assert(e.getSqlState === "22023")
      }
    }
  }

  test("an unknown key in each scope, and a known one in a scope that is not its") {
    val unknown = "ZORDER_UNKNOWN_SETTING"
    fails(unknown, " nope.", "targetFileSize")(settings(options = Map("nope" -> "1")))
    fails(unknown, " zorder.nope.", "zorder.columns")(
      settings(properties = Map("zorder.nope" -> "1")))
    fails(unknown, " spark.zorder.nope.", "spark.zorder.enabled")(
      settings(session = Map("spark.zorder.nope" -> "1")))
    fails(unknown, " zorder.verify.")(settings(options = Map("zorder.verify" -> "full")))
    fails(unknown, " columns.")(settings(options = Map("columns" -> "a")))
    fails(unknown, " enabled.")(settings(options = Map("enabled" -> "true")))
    fails(unknown)(settings(properties = Map("zorder.enabled" -> "true")))
    fails(unknown)(settings(properties = Map("zorder.inPlaceSchemes" -> "s3a")))
    fails(unknown)(settings(session = Map("spark.zorder.columns" -> "a")))
    fails(unknown)(settings(properties = Map("zorder.targetfilesize" -> "1m")))
  }

  test("from SQL: each scope, and the table stays as it was") {
    withTable("t") {
      shuffled(400, 2).write.format("parquet").saveAsTable("t")
      val dir: File = locationOf("t")
      val before = snapshot(dir)
      fails("ZORDER_UNKNOWN_SETTING", "nope")(
        sql("OPTIMIZE t ZORDER BY a OPTIONS ('nope' '1')"))
      fails("ZORDER_INVALID_SETTING", "'lots'", "targetFileSize")(
        sql("OPTIMIZE t ZORDER BY a OPTIONS ('targetFileSize' 'lots')"))
      sql("ALTER TABLE t SET TBLPROPERTIES ('zorder.verify' = 'maybe')")
      fails("ZORDER_INVALID_SETTING", "zorder.verify", "footer, full")(
        sql("OPTIMIZE t ZORDER BY a"))
      // OPTIONS win, so the wrong value of the property is not read
      sql("OPTIMIZE t ZORDER BY a OPTIONS ('verify' 'full') DRY RUN")
      sql("ALTER TABLE t UNSET TBLPROPERTIES ('zorder.verify')")
      sql("ALTER TABLE t SET TBLPROPERTIES ('zorder.nope' = 'x')")
      for (statement <- Seq("OPTIMIZE t ZORDER BY a", "CREATE ZORDER INDEX ON t")) {
        fails("ZORDER_UNKNOWN_SETTING", "zorder.nope")(sql(statement))
      }
      sql("ALTER TABLE t UNSET TBLPROPERTIES ('zorder.nope')")
      withSQLConf("spark.zorder.nope" -> "1") {
        fails("ZORDER_UNKNOWN_SETTING", "spark.zorder.nope")(sql("OPTIMIZE t ZORDER BY a"))
      }
      assert(snapshot(dir) === before)
      // the files have the size of the scope that wins
      val bytes = dataFiles(dir).map(_.length).sum
      sql(s"ALTER TABLE t SET TBLPROPERTIES ('zorder.targetFileSize' = '${bytes / 4}')")
      def filesOf(statement: String): Long =
        sql(s"$statement DRY RUN").select("metrics.numFilesAdded")
          .head().getLong(0)
      assert(filesOf("OPTIMIZE t ZORDER BY (a, b)") >= 3)
      withSQLConf("spark.zorder.targetFileSize" -> "1g") {
        assert(filesOf("OPTIMIZE t ZORDER BY (a, b)") >= 3)
        assert(filesOf("OPTIMIZE t ZORDER BY (a, b) OPTIONS ('TargetFileSize' '1g')") === 1)
        sql("ALTER TABLE t UNSET TBLPROPERTIES ('zorder.targetFileSize')")
        assert(filesOf("OPTIMIZE t ZORDER BY (a, b)") === 1)
      }
    }
  }

  test("SET refuses a wrong value and lists the settings") {
    for ((key, values, legal) <- wrong; value <- values.filter(_.nonEmpty)) {
      val e = intercept[Exception](sql(s"SET spark.zorder.$key=$value"))
      assert(e.getMessage.contains(s"spark.zorder.$key"), e.getMessage)
      assert(e.getMessage.contains(legal), e.getMessage)
      assert(spark.conf.getOption(s"spark.zorder.$key").forall(_ != value))
    }
    val listed = sql("SET -v").collect().map(_.getString(0))
    for (s <- Settings.all if s.scopes(Setting.Session)) {
      assert(listed.contains(s.sessionKey), s.key)
    }
  }
}
