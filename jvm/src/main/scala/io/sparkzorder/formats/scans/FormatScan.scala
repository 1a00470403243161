package io.sparkzorder.formats.scans

import org.apache.spark.sql.types.StructType

import io.sparkzorder.formats.TableFormat

/**
 * A scan of a table of another format, as a query's plan has it.
 *
 * @param location directory of the table
 * @param id of the table; another table may come to the same directory
 * @param properties of the table
 * @param schema all columns of the table
 * @param share the share of the table's bytes that is left by filters on partitions; 1 if it is not known
 * @param open opens the table; None if its version is not known
 */
final case class FormatScan(
    location: String,
    id: String,
    properties: Map[String, String],
    schema: StructType,
    share: Double,
    open: () => Option[TableFormat])
