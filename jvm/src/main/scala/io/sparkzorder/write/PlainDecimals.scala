package io.sparkzorder.write

import java.nio.ByteOrder

import org.apache.parquet.schema.GroupType
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName.{INT32, INT64}

import org.apache.spark.sql.types.{DecimalType, IntegerType, LongType, StructType}

/**
 * Decimals as the integers that they are stored as, on both sides: an `UnsafeRow` keeps a DECIMAL of at
 * most 18 digits as its unscaled value in eight bytes, and Parquet in an INT32 or INT64. Spark's writer
 * makes an object of each on the way, which took 8 % of OPTIMIZE's time on store_sales.
 */
private[sparkzorder] object PlainDecimals {

  /**
   * The schema that Spark's writer should have in mind for rows that are `UnsafeRow`s.
   *
   * @param schema of the rows
   * @param file schema of the file, field by field that of the rows
   */
  def in(schema: StructType, file: GroupType): StructType =
    StructType(schema.fields.zipWithIndex.map { case (field, i) =>
      field.dataType match {
        case d: DecimalType if d.precision <= DecimalInLong && file.getType(i).isPrimitive =>
          file.getType(i).asPrimitiveType.getPrimitiveTypeName match {
            // the lower half of the eight bytes stands first
            case INT32 if littleEndian => field.copy(dataType = IntegerType)
            case INT64 => field.copy(dataType = LongType)
            case _ => field
          }
        case _ => field
      }
    })

  private val DecimalInLong = 18
  private def littleEndian = ByteOrder.nativeOrder == ByteOrder.LITTLE_ENDIAN
}
