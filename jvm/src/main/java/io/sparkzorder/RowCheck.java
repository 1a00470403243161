// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder;

import java.io.IOException;
import java.io.InputStream;
import java.util.Properties;

/**
 * Refuses to start a session if the jar was built for other versions of Spark and Scala. This class
 * is in Java and runs first, because Scala classes of a wrong version would fail to link, without a
 * clear message.
 *
 * <p>A <em>row</em> is a Spark line with a Scala version, as in the table of supported versions.
 */
final class RowCheck {
  private RowCheck() {}

  /**
   * Compares the versions that the jar was built for with the running ones.
   *
   * @param sparkVersion full version of the running Spark, such as {@code 4.1.3}
   * @param scalaVersion full version of the running Scala, such as {@code 2.13.17}
   * @throws IllegalStateException with both pairs of versions, if they differ
   */
  static void require(String sparkVersion, String scalaVersion) {
    Properties row = row();
    check(row.getProperty("spark"), row.getProperty("scala"), line(sparkVersion), line(scalaVersion));
  }

  static void check(String jarSpark, String jarScala, String spark, String scala) {
    if (!jarSpark.equals(spark) || !jarScala.equals(scala)) {
      throw new IllegalStateException(
          "[ZORDER_WRONG_JAR] This spark-zorder jar was built for Spark " + jarSpark + " and Scala "
              + jarScala + ", but the session runs Spark " + spark + " and Scala " + scala
              + ". Use the jar io.sparkzorder:spark-zorder-" + spark + "_" + scala
              + " instead. SQLSTATE: 56038");
    }
  }

  /** The versions that this jar was built for: {@code spark}, {@code scala}, {@code version}. */
  static Properties row() {
    Properties row = new Properties();
    try (InputStream in = RowCheck.class.getResourceAsStream("/io/sparkzorder/row.properties")) {
      row.load(in);
    } catch (IOException e) {
      throw new IllegalStateException("cannot read row.properties of the spark-zorder jar", e);
    }
    return row;
  }

  private static String line(String version) {
    String[] parts = version.split("\\.");
    return parts[0] + "." + parts[1];
  }
}
