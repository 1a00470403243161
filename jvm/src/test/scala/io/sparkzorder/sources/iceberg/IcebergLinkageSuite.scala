// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.iceberg

import java.net.URLClassLoader

import org.apache.iceberg.{BaseTable, LocationProviders}
import org.apache.iceberg.io.LocationProvider

import org.apache.spark.SparkConf
import org.apache.spark.serializer.JavaSerializer

import io.sparkzorder.sources.{FormatLinkageTests, FormatLoaders, PlannedPass, TableFormat}

class IcebergLinkageSuite extends FormatLinkageTests("iceberg") {

  /** Has Iceberg's classes of its own, as if no other class loader had them. */
  private def ofIceberg(): URLClassLoader = {
    val jar = classOf[BaseTable].getProtectionDomain.getCodeSource.getLocation
    new URLClassLoader(Array(jar), classOf[TableFormat].getClassLoader) {
      override def loadClass(name: String, resolve: Boolean): Class[_] =
        if (!name.startsWith("org.apache.iceberg.")) super.loadClass(name, resolve)
        else Option(findLoadedClass(name)).getOrElse(findClass(name))
    }
  }

  test("names of files in two passes reach executors whose class loader of our jar lacks Iceberg") {
    val (driver, executor) = (ofIceberg(), ofIceberg())
    try {
      val provider = driver.loadClass(classOf[LocationProviders].getName)
        .getMethod("locationsFor", classOf[String], classOf[java.util.Map[_, _]])
        .invoke(null, "/t", java.util.Collections.emptyMap())
      val pass = PlannedPass("a-plan")
      val named = FormatLoaders.of("iceberg", driver).loadClass(classOf[LocationsOfPass].getName)
        .getDeclaredConstructors.head.newInstance(provider, pass).asInstanceOf[AnyRef]
      val serializer = new JavaSerializer(new SparkConf(false)).newInstance()
      val sent = serializer.deserialize[AnyRef](serializer.serialize[AnyRef](named), executor)
      val method = executor.loadClass(classOf[LocationProvider].getName)
        .getMethod("newDataLocation", classOf[String])
      assert(method.invoke(sent, "f.parquet") === "/t/data/zorder-a-plan-final-f.parquet")
    } finally {
      driver.close()
      executor.close()
    }
  }
}
