// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

import scala.util.{Failure, Success, Try}

import sbt._
import sbt.Keys._

/**
 * Versions of the table formats.
 *
 * @param iceberg Spark line and version of Iceberg's runtime
 * @param delta artifact and version of Delta
 */
final case class FormatVersions(iceberg: (String, String), delta: (String, String)) {

  def modules: Seq[ModuleID] = Seq(
    // the runtime has everything that Iceberg needs
    ("org.apache.iceberg" %% s"iceberg-spark-runtime-${iceberg._1}" % iceberg._2).intransitive(),
    ("io.delta" %% delta._1 % delta._2).intransitive(),
    ("io.delta" % "delta-storage" % delta._2).intransitive())

  override def toString: String = s"Iceberg ${iceberg._2} and Delta ${delta._2}"
}

/**
 * Runs the suites of table formats with other versions than those that the classes are compiled with:
 * a user brings another version than the build. Only the class path of the running tests changes, so
 * nothing is compiled again.
 */
object FormatVersions {
  val runFormats = settingKey[FormatVersions]("versions of the formats that the suites run with")

  val Suites =
    Seq("Format*", "delta.*", "iceberg.*").map("io.sparkzorder.sources." + _).mkString(" ")

  private lazy val Others = config("formats").hide

  private val organizations = Set("org.apache.iceberg", "io.delta")

  def settings(row: SparkRow): Seq[Setting[_]] = Seq(
    runFormats := row.formats,
    ivyConfigurations += Others,
    libraryDependencies ++= row.formats.modules.map(_ % Provided),
    libraryDependencies ++= others(row, runFormats.value).map(_ % Others),
    Test / fullClasspath := {
      val compiled = (Test / fullClasspath).value
      val jars = Classpaths.managedJars(Others, classpathTypes.value, update.value)
      if (runFormats.value == row.formats) compiled
      else {
        compiled.filterNot(_.get(moduleID.key).exists(m => organizations(m.organization))) ++ jars
      }
    },
    // a suite compares them with the versions that it finds
    Test / javaOptions ++= Seq(
      s"-Dsparkzorder.test.iceberg=${runFormats.value.iceberg._2}",
      s"-Dsparkzorder.test.delta=${runFormats.value.delta._2}"))

  private def others(row: SparkRow, versions: FormatVersions): Seq[ModuleID] =
    if (versions == row.formats) Nil else versions.modules

  /**
   * `testFormats spark35 *DeltaFeaturesSuite` runs suites of some rows with each of the row's versions;
   * by default, all suites of all rows.
   */
  def command(rows: Seq[(String, SparkRow)]): Command =
    Command.args("testFormats", "<row>... <argument of testOnly>...") { (state, words) =>
      val (chosen, suites) = words.partition(rows.map(_._1).contains(_))
      val results = for {
        (project, row) <- rows if chosen.isEmpty || chosen.contains(project)
        versions <- row.testedFormats
      } yield {
        val arguments = if (suites.isEmpty) Suites else suites.mkString(" ")
        s"$project with $versions" -> run(state, project, versions, arguments)
      }
      results.foreach {
        case (name, Success(_)) => state.log.info(s"passed: $name")
        case (name, Failure(_)) => state.log.error(s"failed: $name")
      }
      if (results.forall(_._2.isSuccess)) state else state.fail
    }

  private def run(
      state: State,
      project: String,
      versions: FormatVersions,
      arguments: String): Try[_] = {
    val own = LocalProject(project)
    state.log.info(s"$project with $versions")
    val changed =
      Project.extract(state).appendWithSession(Seq(own / runFormats := versions), state)
    Try(Project.extract(changed).runInputTask(own / Test / testOnly, s" $arguments", changed))
  }
}
