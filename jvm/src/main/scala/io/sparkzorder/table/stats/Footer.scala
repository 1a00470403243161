package io.sparkzorder.table.stats

import org.apache.parquet.column.statistics.Statistics
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData
import org.apache.parquet.schema.{MessageType, PrimitiveType}

import io.sparkzorder.table.{DataFile, OrcSchema}

/**
 * What the footer says of one leaf column of one file.
 *
 * @param nulls number of nulls, or -1 when some row group does not say
 * @param min least value as Parquet's own class, or null when unknown or when all values are null
 * @param max greatest value, null together with `min`
 * @param known false when some row group with values has no min/max
 * @param bytes of the column after compression
 * @param noNaN statistics themselves show that no value is NaN
 * @param values number of values that are not null, or -1 when it is not known
 */
final case class LeafBounds(
    nulls: Long,
    min: Any,
    max: Any,
    known: Boolean,
    bytes: Long = 0L,
    noNaN: Boolean = false,
    values: Long = -1L)

/**
 * The footer of one data file, reduced to what OPTIMIZE needs. Its language is Parquet's for both
 * formats: the schema of an ORC file is the one that Parquet would have for it, see [[OrcSchema]].
 *
 * @param rows number of rows
 * @param uncompressed bytes of all columns before compression
 * @param schema as Parquet has it; files that agree share one object
 * @param keyValues footer key-values; files that agree share one object
 * @param codec as Spark's options name it, such as `zstd`; None for a file without data
 * @param leaves one entry a leaf column, in the order of `schema.getColumns`
 * @param createdBy the library that wrote the file, as it calls itself; empty when it does not say
 * @param orc schema of an ORC file; None for Parquet
 */
final case class Footer(
    file: DataFile,
    rows: Long,
    uncompressed: Long,
    schema: MessageType,
    keyValues: Map[String, String],
    codec: Option[String],
    leaves: Array[LeafBounds],
    createdBy: String = "",
    orc: Option[OrcSchema] = None)

object LeafBounds {
  val none: LeafBounds = LeafBounds(0, null, null, known = true)

  /** Adds a column chunk to what is known of its column so far. */
  def add(sofar: LeafBounds, chunk: ColumnChunkMetaData): LeafBounds = {
    val s: Statistics[_] = chunk.getStatistics
    val hasNulls = s != null && s.isNumNullsSet
    val nulls = if (sofar.nulls < 0 || !hasNulls) -1L else sofar.nulls + s.getNumNulls
    val allNull = hasNulls && s.getNumNulls == chunk.getValueCount
    val bytes = sofar.bytes + chunk.getTotalSize
    if (!sofar.known || allNull) sofar.copy(nulls = nulls, bytes = bytes)
    else if (s == null || s.isEmpty || !s.hasNonNullValue) {
      LeafBounds(nulls, null, null, known = false, bytes)
    } else {
      val t = chunk.getPrimitiveType
      LeafBounds(
        nulls,
        least(t, sofar.min, s.genericGetMin),
        greatest(t, sofar.max, s.genericGetMax),
        known = true,
        bytes)
    }
  }

  def least(t: PrimitiveType, a: Any, b: Any): Any =
    if (a == null) b else if (compare(t, a, b) <= 0) a else b

  def greatest(t: PrimitiveType, a: Any, b: Any): Any =
    if (a == null) b else if (compare(t, a, b) >= 0) a else b

  /** Compares two values of a column as Parquet orders its type. */
  def compare(t: PrimitiveType, a: Any, b: Any): Int =
    t.comparator[Any]().compare(a, b)
}
