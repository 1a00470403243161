// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder

import java.util.{Collections, WeakHashMap}

import scala.util.Properties

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.{SparkSessionExtensions, SparkSessionExtensionsProvider}

import io.sparkzorder.conf.Settings
import io.sparkzorder.expressions.{ProjectSampledJoinKeys, ZOrderFunctions}
import io.sparkzorder.expressions.sampling.ResolveSampledCalls
import io.sparkzorder.index.IndexHeader
import io.sparkzorder.log.{Checkpoint, Intent, Record}
import io.sparkzorder.ordered.{CoalesceWriteCells, OrderWrites, SetCellPartitionSize}
import io.sparkzorder.skipping.dynamic.{ImpliedFilters, JoinFilters}
import io.sparkzorder.skipping.scan.{
  DerivedRanges,
  FormatFileStrategy,
  FormatScanStrategy,
  FormatTable,
  ListedAgain,
  MarkShownNames,
  ScanStrategy,
  V2ScanStrategy
}
import io.sparkzorder.sources.TableFormats
import io.sparkzorder.sources.scans.WatchScans
import io.sparkzorder.sql.{CheckDeclaredOrder, ResolveZOrderStatements, ZOrderParser}
import io.sparkzorder.util.{FirstStrategies, Json, LastRules, OwnJar}
import io.sparkzorder.workload.StoredFile

/**
 * Everything that spark-zorder adds to a session.
 *
 * Spark loads this class as a service if the jar is on the class path, or by
 * `spark.sql.extensions=io.sparkzorder.ZOrderExtensions`. Both together are harmless.
 */
class ZOrderExtensions extends SparkSessionExtensionsProvider {

  override def apply(extensions: SparkSessionExtensions): Unit = {
    RowCheck.require(SPARK_VERSION, Properties.versionNumberString)
    Settings.register()
    if (ZOrderExtensions.firstTime(extensions)) {
      if (OwnJar.mayBeClosed) loadAll()
      inject(extensions)
    }
  }

  /** Loads all our classes now, because the end of a session may close our jar; see [[OwnJar]]. */
  private def loadAll(): Unit = {
    OwnJar.loadClasses()
    Json.readClassFiles(
      classOf[Intent],
      classOf[Record],
      classOf[Checkpoint],
      classOf[IndexHeader],
      classOf[StoredFile])
  }

  private def inject(extensions: SparkSessionExtensions): Unit = {
    // parses our statements and passes every other text to the next parser
    extensions.injectParser((_, next) => new ZOrderParser(next))
    extensions.injectResolutionRule(new ResolveZOrderStatements(_))
    // permanent views may only call built-in functions
    ZOrderFunctions.registerAsBuiltin()
    ZOrderFunctions.all.foreach(extensions.injectFunction)
    // after resolution, because the input of a call is not known earlier
    extensions.injectPostHocResolutionRule(_ => ResolveSampledCalls)
    // after predicates were pushed into joins and before join strategies are chosen
    extensions.injectPreCBORule(_ => ProjectSampledJoinKeys)
    // after Spark has pushed filters down to the scans, and before the scans of table formats take these filters
    extensions.injectPreCBORule(_ => ImpliedFilters)
    // tells our scan rules how to recognize tables of Delta and Iceberg, which list their files themselves
    FormatTable.findBy(TableFormats.skipping, TableFormats.takesRanges)
    // DerivedRanges adds ranges of columns to filters, for Delta and Iceberg. JoinFilters gives scans the keys of joins
    // as filters. JoinFilters must run after all rules that change the plan, so it is appended to the session's extra
    // optimizations. Spark builds its optimizer anew for each query, and calls this function each time.
    extensions.injectOptimizerRule { session =>
      LastRules.ensure(session.experimental, JoinFilters)
      // records the scans of Delta and Iceberg tables, if the settings ask for it
      LastRules.ensure(session.experimental, WatchScans)
      DerivedRanges
    }
    // a declared order of a table is checked when it is declared, and every write keeps the order
    extensions.injectPostHocResolutionRule(_ => CheckDeclaredOrder)
    extensions.injectPreCBORule(OrderWrites(_))
    extensions.injectQueryStagePrepRule(_ => SetCellPartitionSize)
    extensions.injectQueryStageOptimizerRule(_ => CoalesceWriteCells)
    extensions.injectQueryStageOptimizerRule(_ => ListedAgain)
    // Our strategies plan before those of all other extensions, so that a scan sees a committed run of OPTIMIZE
    // completely or not at all. Spark calls this function when it begins a plan, before any scan is planned. For the
    // root of the first plan of a session, Spark has asked for the first strategies already.
    extensions.injectPlannerStrategy { session =>
      FirstStrategies.ensure(
        session,
        Seq(ScanStrategy, V2ScanStrategy, FormatScanStrategy, FormatFileStrategy))
      MarkShownNames
    }
  }
}

object ZOrderExtensions {
  // Spark may apply this class twice to one SparkSessionExtensions: as a service and by the setting
  private val seen =
    Collections.newSetFromMap(new WeakHashMap[SparkSessionExtensions, java.lang.Boolean])

  private def firstTime(extensions: SparkSessionExtensions): Boolean =
    seen.synchronized(seen.add(extensions))
}
