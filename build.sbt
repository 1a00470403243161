// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

// The rows of project/SparkRow.scala as plain projects over one source tree: `sbt package` makes
// every jar, `sbt spark41/test` runs one row's suites.

ThisBuild / organization := "io.sparkzorder"
ThisBuild / version := "0.2.0"
ThisBuild / licenses := Seq("Apache-2.0" -> url("https://www.apache.org/licenses/LICENSE-2.0"))
ThisBuild / description := "Multi-dimensional clustering of plain Parquet tables for Apache Spark"
ThisBuild / homepage := Some(url("https://github.com/spark-zorder/spark-zorder"))
ThisBuild / scmInfo := Some(
  ScmInfo(
    url("https://github.com/spark-zorder/spark-zorder"),
    "scm:git:https://github.com/spark-zorder/spark-zorder.git"))
ThisBuild / developers := List(
  Developer(
    "spark-zorder",
    "The spark-zorder developers",
    "",
    url("https://github.com/spark-zorder/spark-zorder")))
// `make publish-local` names the folder of the Maven repository
ThisBuild / publishTo := sys.props.get("zorder.repository").map(folder =>
  MavenCache("local repository", file(folder)))

// The releases whose public classes and methods MiMa compares with those of this checkout. The first
// release that can be installed is the first entry.
val released: Seq[String] = Nil

Global / onChangedBuildSource := ReloadOnSourceChanges
// two groups of a row's suites run beside each other; five compilers at once do not fit into the memory
// of the launcher
Global / concurrentRestrictions := Seq(
  Tags.limitAll(java.lang.Runtime.getRuntime.availableProcessors.max(2)),
  Tags.limit(Tags.Test, 2),
  Tags.limit(Tags.ForkedTestGroup, 2),
  Tags.limit(Tags.Compile, 2),
  Tags.exclusiveGroup(Tags.Clean))
Global / excludeLintKeys ++= Set(scalafmtOnCompile, bomFileName)

lazy val Antlr = config("antlr").hide

// a project for each row: `spark41`, `spark35`, `spark35on213`
lazy val sparkRows: CompositeProject = new CompositeProject {
  val componentProjects: Seq[Project] = SparkRow.all.map(sparkRow)
}

lazy val root = (project in file("."))
  .aggregate(SparkRow.all.map(row => LocalProject(row.project)): _*)
  .settings(
    name := "spark-zorder-root",
    publish / skip := true,
    mimaPreviousArtifacts := Set.empty,
    Compile / sources := Nil,
    commands += FormatVersions.command(SparkRow.all.map(row => row.project -> row)))

// micro-benchmarks by `make bench-kernels`; root does not aggregate it, so nothing else builds it
lazy val kernelBench = Project("kernelBench", file("target/kernel-bench"))
  .enablePlugins(JmhPlugin)
  .dependsOn(LocalProject("spark41") % "compile->compile,provided")
  .settings(
    scalaVersion := SparkRow.spark41.scala,
    publish / skip := true,
    // else sbt warns of the intransitive dependency below
    publishMavenStyle := false,
    Compile / unmanagedSourceDirectories := Seq(
      file("benchmarks/kernels/src/main/scala").getAbsoluteFile),
    // the peer, for its kernels alone
    libraryDependencies += ("io.delta" % "delta-spark_4.1_2.13" % "4.4.0").intransitive(),
    scalacOptions := scalacFlags(SparkRow.spark41),
    // a library of Spark's asks for a newer patch of Scala's than Spark brings
    dependencyOverrides += "org.scala-lang" % "scala-library" % SparkRow.spark41.scala,
    // inherited by the JVMs that JMH forks
    Jmh / javaOptions ++= "-Xmx2g" +: opened)

lazy val S3Server = config("s3server").hide

// OPTIMIZE on HDFS and S3 by `make test-fs`; root does not aggregate it, so nothing else builds it
lazy val fsTest = Project("fsTest", file("target/fs-test"))
  .configs(S3Server)
  .dependsOn(LocalProject("spark41") % "test->test,provided")
  .settings(forkedTests)
  .settings(
    scalaVersion := SparkRow.spark41.scala,
    publish / skip := true,
    Compile / sources := Nil,
    Test / unmanagedSourceDirectories := Seq(file("jvm/src/test-fs/scala").getAbsoluteFile),
    ivyConfigurations += S3Server,
    libraryDependencies ++= FileSystemTests.modules ++ FileSystemTests.server.map(_ % S3Server),
    // a library of Spark's asks for a newer patch of Scala's than Spark brings
    dependencyOverrides += "org.scala-lang" % "scala-library" % SparkRow.spark41.scala,
    scalacOptions := scalacFlags(SparkRow.spark41),
    Test / javaOptions += {
      val jars = Classpaths.managedJars(S3Server, classpathTypes.value, update.value).map(_.data)
      s"-D${FileSystemTests.serverClasspath}=${jars.mkString(java.io.File.pathSeparator)}"
    })

lazy val forkedTests = Seq(
  Test / fork := true,
  // suites of one JVM run one after the other; the JVMs of the groups below, beside each other
  Test / parallelExecution := true,
  Test / testForkedParallel := false,
  Test / baseDirectory := file(".").getAbsoluteFile,
  Test / javaOptions ++= testJvm,
  // codegen modes and error checks are honoured only under SPARK_TESTING
  Test / envVars ++= Map("SPARK_TESTING" -> "1", "SPARK_LOCAL_IP" -> "127.0.0.1"),
  Test / testOptions += Tests.Argument(TestFrameworks.ScalaTest, "-oDF"),
  // `2/4` is about the second quarter of the suites, for a run that has not the time for all of them
  Test / testOptions ++= sys.env.get("PART").filter(_.nonEmpty).map { text =>
    val Array(part, parts) = text.split('/').map(_.toInt)
    require(1 <= part && part <= parts, s"PART=$text")
    Tests.Filter(suite => java.lang.Math.floorMod(suite.hashCode, parts) == part - 1)
  },
  // A JVM has one SparkContext, and a suite keeps one core and a half busy: two JVMs at a time. Of four groups the
  // third starts when the first ends, so that no JVM waits for long.
  Test / testGrouping := {
    val options = (Test / forkOptions).value
    (Test / definedTests).value.sortBy(_.name).zipWithIndex.groupBy(_._2 % 4).toSeq.map {
      case (group, suites) =>
        Tests.Group(s"group ${group + 1}", suites.map(_._1), Tests.SubProcess(options))
    }
  })

def sparkRow(row: SparkRow): Project = {
  val jvm = file("jvm").getAbsoluteFile
  Project(row.project, file(s"target/rows/${row.id}"))
    .configs(Antlr)
    .settings(forkedTests)
    .settings(
      name := s"spark-zorder-${row.line}",
      // sbt would make a hyphen of the dot
      moduleName := name.value,
      scalaVersion := row.scala,
      crossPaths := true,
      target := baseDirectory.value / "target",
      Compile / unmanagedSourceDirectories :=
        Seq(jvm / "src/main/java", jvm / "src/main/scala") ++ row.bridges.map(jvm / "src/main" / _),
      Compile / unmanagedResourceDirectories := Seq(jvm / "src/main/resources"),
      Test / unmanagedSourceDirectories :=
        (jvm / "src/test/scala") +: row.bridges.map(jvm / "src/test" / _),
      Test / unmanagedResourceDirectories := Seq(jvm / "src/test/resources"),
      // a `core-default.xml` of few settings, which the tests of HDFS and S3 (fsTest) do not have
      Test / fullClasspath := Attributed.blank(
        jvm / "src/test/hadoop") +: (Test / fullClasspath).value,
      libraryDependencies ++= dependencies(row),
      FormatVersions.settings(row),
      // a library of Spark's asks for a newer patch of Scala's than Spark brings
      dependencyOverrides ++= Seq("library", "reflect", "compiler").map(m =>
        "org.scala-lang" % s"scala-$m" % row.scala),
      // stand-ins for classes of core, for clients without it; not published for every version
      excludeDependencies += "org.apache.spark" %% "spark-connect-shims",
      Test / testOptions ++= {
        val suites = (Test / definedTests).value.map(_.name)
        leftOut(row).map { part =>
          // a filter of a name that is gone would bring the suites back
          if (!suites.exists(_.contains(part))) sys.error(s"no suite has '$part' in its name")
          Tests.Filter(!_.contains(part))
        }
      },
      ivyConfigurations += Antlr,
      pomPostProcess := (ThinPom(_)),
      Compile / sourceGenerators += Def.task {
        AntlrGenerator.generate(
          jvm / "src/main/antlr4/ZOrderSqlBase.g4",
          Classpaths.managedJars(Antlr, classpathTypes.value, update.value).map(_.data),
          "io.sparkzorder.sql.parser",
          (Compile / sourceManaged).value / "antlr4",
          streams.value.cacheDirectory / "antlr-inputs")
      }.taskValue,
      scalacOptions := scalacFlags(row),
      javacOptions ++= Seq("--release", row.javaRelease.toString),
      Compile / doc / scalacOptions --= Seq("-Werror", "-Xfatal-warnings"),
      // what ANTLR generates is nobody's interface
      Compile / doc / scalacOptions ++= Seq("-skip-packages", "io.sparkzorder.sql.parser"),
      Compile / packageBin / packageOptions += Package.ManifestAttributes(
        "Spark-ZOrder-Row" -> row.id,
        "Spark-ZOrder-Spark-Line" -> row.line,
        "Spark-ZOrder-Scala" -> row.scalaBinary,
        "Spark-ZOrder-Version" -> version.value),
      Seq(packageBin, packageSrc, packageDoc).map(jar =>
        Compile / jar / mappings ++=
          Seq("LICENSE", "NOTICE").map(n => file(n).getAbsoluteFile -> s"META-INF/$n")),
      mimaPreviousArtifacts :=
        released.map(v => organization.value %% moduleName.value % v).toSet,
      bomFileName := s"spark-zorder-${row.id}-${version.value}.cdx.json",
      Compile / packageBin / artifactPath :=
        file("target/jars").getAbsoluteFile /
          s"spark-zorder-${row.id}-${version.value}.jar",
      Compile / resourceGenerators += Def.task {
        // read by the session-start check, on class paths without a manifest (tests, IDEs) too
        val f = (Compile / resourceManaged).value / "io/sparkzorder/row.properties"
        IO.write(f, s"spark=${row.line}\nscala=${row.scalaBinary}\nversion=${version.value}\n")
        Seq(f)
      }.taskValue)
}

/** Parts of the names of suites that a row does not run. */
def leftOut(row: SparkRow): Seq[String] =
  // what it judges does not depend on Spark's line, and it takes two minutes
  (if (row == SparkRow.spark41) Nil else Seq(".quality.QualitySuite")) ++
    // Iceberg's classes for another Spark line compile, but cannot be loaded
    (if (row.formats.iceberg._1 == row.line) Nil else Seq(".sources.iceberg.")) ++
    (if (row.comet.isDefined) Nil else Seq(".accelerators.Comet"))

def dependencies(row: SparkRow): Seq[ModuleID] = {
  val modules = Seq("core", "catalyst", "sql").map(m => "org.apache.spark" %% s"spark-$m")
  val (plus, plusVersion) = row.scalaCheckPlus
  modules.map(_ % row.spark % Provided) ++
    row.testModules.map(m =>
      "org.apache.spark" %% s"spark-$m" % row.spark % Test classifier "tests") ++
    Seq(
      "org.scalatest" %% "scalatest" % row.scalaTest % Test,
      "org.scalatestplus" %% plus % plusVersion % Test,
      "com.tngtech.archunit" % "archunit" % "1.4.1" % Test,
      "org.antlr" % "antlr4" % row.antlr % Antlr) ++
    // has what it needs inside
    row.comet.map { case (name, v) =>
      ("org.apache.datafusion" %% name % v % Test).intransitive()
    }
}

def scalacFlags(row: SparkRow): Seq[String] = {
  val common = Seq(
    "-encoding",
    "UTF-8",
    "-deprecation",
    "-feature",
    "-unchecked",
    "-release",
    row.javaRelease.toString,
    // one spelling for both Scala versions; scala.jdk.CollectionConverters is not in 2.12
    "-Wconf:cat=deprecation&msg=JavaConverters:s")
  if (row.scalaBinary == "2.13") {
    common ++ Seq("-Werror", "-Wunused:imports,privates,locals", "-Xlint:infer-any")
  } else {
    common ++ Seq("-Xfatal-warnings", "-Ywarn-unused:imports,privates,locals")
  }
}

// what Spark's own launcher passes on JDK 17; the first compiler alone, since suites are short and the
// second one takes a third of two cores; with that the default room for compiled code is 48 MB, which a
// hundred suites fill: the JVM then compiles nothing more, and throws errors; Parquet's buffers are
// humongous objects to G1, which then marks the heap without end
lazy val testJvm: Seq[String] =
  Seq(
    "-Xmx3g",
    "-Xss4m",
    "-Duser.timezone=UTC",
    "-XX:TieredStopAtLevel=1",
    "-XX:ReservedCodeCacheSize=512m",
    "-XX:+UseParallelGC",
    "-Dio.netty.tryReflectionSetAccessible=true") ++ opened

lazy val opened: Seq[String] =
  Seq(
    "java.lang",
    "java.lang.invoke",
    "java.lang.reflect",
    "java.io",
    "java.net",
    "java.nio",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "sun.nio.ch",
    "sun.nio.cs",
    "sun.security.action",
    "sun.util.calendar").map(p => s"--add-opens=java.base/$p=ALL-UNNAMED")
