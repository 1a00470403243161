// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

addSbtPlugin("org.scalameta" % "sbt-scalafmt" % "2.5.5")
addSbtPlugin("pl.project13.scala" % "sbt-jmh" % "0.4.7")
// `make release`: a list of what a jar needs, and what a release breaks for callers of the one before
addSbtPlugin("com.github.sbt" % "sbt-sbom" % "0.5.0")
addSbtPlugin("com.typesafe" % "sbt-mima-plugin" % "1.1.6")
