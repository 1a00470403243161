package io.sparkzorder.sources

import org.apache.spark.sql.types.StructType

import io.sparkzorder.conf.Setting

/**
 * A scan of the current state of a table of another format, as a query's plan has it. It keeps nothing
 * of the plan, which may hold a list of all files of the table.
 *
 * @param location directory of the table
 * @param properties of the table
 * @param setting whether OPTIMIZE leaves such tables to their format
 */
abstract class FormatScan(
    val location: String,
    val properties: Map[String, String],
    val setting: Setting[String]) {

  /** Tells the table from another one that comes to the same directory. */
  def id: String

  /** All columns of the table. */
  def schema: StructType

  /** The share of the table's bytes that is left by filters on partitions; 1 if it is not known. */
  def share: Double

  /** Opens the table; None if it is left to its format. */
  def open(): Option[SnapshotFormat]
}
