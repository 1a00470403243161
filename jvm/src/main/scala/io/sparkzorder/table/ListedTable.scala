package io.sparkzorder.table

import org.apache.spark.sql.types.StructType

/**
 * A table of any format whose data files are Parquet or ORC, listed for looking at it.
 *
 * @param name how messages name it
 * @param files its data files; for tables of other formats the folders are its partitions
 * @param schema data columns; None where only the files know them
 * @param target the table if it is one of ours, whose `_zorder/` may say more
 * @param format of its data files
 */
final case class ListedTable(
    name: String,
    files: TableFiles,
    schema: Option[StructType],
    target: Option[Target],
    format: DataFormat)
