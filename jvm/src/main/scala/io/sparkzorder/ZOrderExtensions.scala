package io.sparkzorder

import java.util.{Collections, WeakHashMap}

import scala.util.Properties

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.{SparkSessionExtensions, SparkSessionExtensionsProvider}

import io.sparkzorder.conf.Settings
import io.sparkzorder.expressions.{ProjectSampledJoinKeys, ZOrderFunctions}
import io.sparkzorder.expressions.sampling.ResolveSampledCalls
import io.sparkzorder.skipping.scan.ScanStrategy
import io.sparkzorder.sql.{ResolveZOrderStatements, ZOrderParser}

/**
 * The table of contents: everything that spark-zorder adds to a session, in one place.
 *
 * Spark finds it as a service when the jar is on the class path, or by
 * `spark.sql.extensions=io.sparkzorder.ZOrderExtensions`; both together are harmless.
 */
class ZOrderExtensions extends SparkSessionExtensionsProvider {

  override def apply(extensions: SparkSessionExtensions): Unit = {
    RowCheck.require(SPARK_VERSION, Properties.versionNumberString)
    Settings.register()
    if (ZOrderExtensions.firstTime(extensions)) inject(extensions)
  }

  private def inject(extensions: SparkSessionExtensions): Unit = {
    // our statements; every other text goes to the parser that was there before
    extensions.injectParser((_, next) => new ZOrderParser(next))
    extensions.injectResolutionRule(new ResolveZOrderStatements(_))
    // permanent views may call built-in functions only
    ZOrderFunctions.registerAsBuiltin()
    ZOrderFunctions.all.foreach(extensions.injectFunction)
    // after resolution, when a call's input is known
    extensions.injectPostHocResolutionRule(_ => ResolveSampledCalls)
    // after predicates have moved into joins, before join strategies are chosen
    extensions.injectPreCBORule(_ => ProjectSampledJoinKeys)
    // scans of Parquet files see a committed run of OPTIMIZE whole or not at all
    extensions.injectPlannerStrategy(_ => ScanStrategy)
  }
}

object ZOrderExtensions {
  // Spark applies an extension once as a service and once by its setting, to the same object
  private val seen =
    Collections.newSetFromMap(new WeakHashMap[SparkSessionExtensions, java.lang.Boolean])

  private def firstTime(extensions: SparkSessionExtensions): Boolean =
    seen.synchronized(seen.add(extensions))
}
