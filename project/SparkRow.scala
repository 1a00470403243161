// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

/**
 * One line of the build: a Spark line and a Scala binary version for which a jar is made. This table
 * is the only place with the versions of Spark's rows; a new Spark line is one entry in `SparkRow.all` and,
 * where Spark's API moved, a folder of bridges. CONTRIBUTING, "A new Spark line", has the other places.
 *
 * Folders of bridges are named after the lines that have them: `scala-spark-4.0` is of 4.0 alone,
 * `scala-spark-3.5-4.0` of those two and `scala-spark-4` of all lines of 4. The latest one,
 * `scala-spark-4.1`, is also of the lines that come after it, until one differs.
 *
 * @param formats versions of Iceberg and Delta that the row is compiled and tested with
 * @param comet artifact and version of Comet, whose accelerated scans the row is tested with
 * @param otherFormats versions that `make test-formats` also tests the row's classes with: with
 *   `formats`, the oldest and the newest that support the Spark line
 */
final case class SparkRow(
    spark: String,
    scala: String,
    antlr: String,
    scalaTest: String,
    scalaCheckPlus: (String, String),
    javaRelease: Int,
    bridges: Seq[String],
    formats: FormatVersions,
    otherFormats: Seq[FormatVersions],
    comet: Option[(String, String)] = None) {

  /** `4.1`, the line of [[spark]]: a jar serves every bug-fix version of its line. */
  val line: String = spark.split('.').take(2).mkString(".")

  /** `2.13` */
  val scalaBinary: String = scala.split('.').take(2).mkString(".")

  /** `4.1_2.13`, the row's name in jar names, messages and documentation. */
  val id: String = s"${line}_$scalaBinary"

  /** `spark41`, the row's project in sbt; with a line's second Scala version, `spark35on213`. */
  def project: String = {
    val isFirst = SparkRow.all.find(_.line == line).contains(this)
    val suffix = if (isFirst) "" else s"on${scalaBinary.filter(_.isDigit)}"
    s"spark${line.filter(_.isDigit)}$suffix"
  }

  /** All versions of Iceberg and Delta that the row is tested with, the oldest first. */
  val testedFormats: Seq[FormatVersions] = otherFormats :+ formats

  /** Spark's modules whose `tests` jars the suites need. */
  val testModules: Seq[String] =
    Seq("core", "catalyst", "sql", "common-utils", "tags") ++
      (if (line.startsWith("4.")) Seq("sql-api") else Nil)
}

object SparkRow {
  val spark41: SparkRow = SparkRow(
    spark = "4.1.3",
    scala = "2.13.17",
    antlr = "4.13.1",
    scalaTest = "3.2.19",
    scalaCheckPlus = "scalacheck-1-18" -> "3.2.19.0",
    javaRelease = 17,
    bridges = Seq("scala-spark-4", "scala-spark-4.1"),
    formats = FormatVersions("4.1" -> "1.12.0", "delta-spark_4.1" -> "4.4.0"),
    // Delta 4.1 and 4.2 call what Spark 4.1.3 does not have any more
    otherFormats = Seq(FormatVersions("4.1" -> "1.11.0", "delta-spark_4.1" -> "4.3.0")),
    comet = Some("comet-spark-spark4.1" -> "1.2.0"))

  // Iceberg has no release for Spark 4.2; the row compiles with the latest one
  val spark42: SparkRow = spark41.copy(
    spark = "4.2.0",
    scala = "2.13.18",
    formats = FormatVersions("4.1" -> "1.12.0", "delta-spark_4.2" -> "4.4.0"),
    otherFormats = Nil,
    comet = None)

  val spark40: SparkRow = spark41.copy(
    spark = "4.0.2",
    scala = "2.13.16",
    bridges = Seq("scala-spark-4", "scala-spark-4.0", "scala-spark-3.5-4.0"),
    formats = FormatVersions("4.0" -> "1.11.0", "delta-spark" -> "4.0.1"),
    otherFormats = Seq(
      FormatVersions("4.0" -> "1.10.0", "delta-spark" -> "4.0.0"),
      FormatVersions("4.0" -> "1.11.0", "delta-spark_4.0" -> "4.4.0")),
    comet = None)

  val spark35: SparkRow = SparkRow(
    spark = "3.5.8",
    scala = "2.12.18",
    antlr = "4.9.3",
    scalaTest = "3.2.16",
    scalaCheckPlus = "scalacheck-1-17" -> "3.2.16.0",
    javaRelease = 8,
    bridges = Seq("scala-spark-3.5", "scala-spark-3.5-4.0"),
    formats = FormatVersions("3.5" -> "1.12.0", "delta-spark" -> "3.3.3"),
    otherFormats = Seq(FormatVersions("3.5" -> "1.10.0", "delta-spark" -> "3.3.0")))

  // Iceberg 1.12 has no jar for Spark 3.5 with Scala 2.13
  val spark35on213: SparkRow = spark35.copy(
    scala = "2.13.8",
    formats = FormatVersions("3.5" -> "1.10.1", "delta-spark" -> "3.3.3"),
    otherFormats = Seq(
      FormatVersions("3.5" -> "1.10.0", "delta-spark" -> "3.3.0"),
      FormatVersions("3.5" -> "1.11.0", "delta-spark" -> "3.3.3")))

  /** Every row; the first is the default one. */
  val all: Seq[SparkRow] = Seq(spark41, spark35, spark40, spark42, spark35on213)
}
