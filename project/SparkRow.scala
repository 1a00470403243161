/**
 * One line of the build: a Spark line and a Scala binary version for which a jar is made. This table
 * is the only place that names their versions; a new Spark line is one entry in `SparkRow.all` and,
 * where Spark's API moved, a folder of bridges.
 */
final case class SparkRow(
    spark: String,
    scala: String,
    antlr: String,
    scalaTest: String,
    scalaCheckPlus: (String, String),
    javaRelease: Int,
    bridges: Seq[String]) {

  /** `4.1`, the line of [[spark]]: a jar serves every bug-fix version of its line. */
  val line: String = spark.split('.').take(2).mkString(".")

  /** `2.13` */
  val scalaBinary: String = scala.split('.').take(2).mkString(".")

  /** `4.1_2.13`, the row's name in jar names, messages and documentation. */
  val id: String = s"${line}_$scalaBinary"
}

object SparkRow {
  val spark41: SparkRow = SparkRow(
    spark = "4.1.3",
    scala = "2.13.17",
    antlr = "4.13.1",
    scalaTest = "3.2.19",
    scalaCheckPlus = "scalacheck-1-18" -> "3.2.19.0",
    javaRelease = 17,
    bridges = Seq("scala-spark-4.1"))

  val spark35: SparkRow = SparkRow(
    spark = "3.5.8",
    scala = "2.12.18",
    antlr = "4.9.3",
    scalaTest = "3.2.16",
    scalaCheckPlus = "scalacheck-1-17" -> "3.2.16.0",
    javaRelease = 8,
    bridges = Seq("scala-spark-3.5"))

  /** Every row; the first is the default one. */
  val all: Seq[SparkRow] = Seq(spark41, spark35)
}
