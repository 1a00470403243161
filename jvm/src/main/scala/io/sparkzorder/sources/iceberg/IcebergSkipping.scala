// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.iceberg

import java.lang.reflect.{Field, Modifier}

import scala.collection.JavaConverters._
import scala.collection.mutable

import org.apache.iceberg.{
  BaseScanTaskGroup,
  BaseTable,
  DataFile,
  FileScanTask,
  ScanTask,
  ScanTaskGroup,
  Schema,
  Snapshot
}
import org.apache.iceberg.spark.SparkSchemaUtil
import org.apache.iceberg.types.{Type, Types}
import org.apache.iceberg.types.Types.NestedField
import org.apache.iceberg.util.SnapshotUtil

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.connector.read.{InputPartition, SupportsRuntimeV2Filtering}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{DataType, TimestampNTZType, TimestampType}

import io.sparkzorder.conf.Settings
import io.sparkzorder.index.{FileEntry, IndexContent, LeafColumns}
import io.sparkzorder.skipping.predicate.{FileBounds, FilterOnBounds, TableColumns}
import io.sparkzorder.skipping.scan.{FormatBatchTable, ImportedTimes, PrunedPartitions}
import io.sparkzorder.sources.{FileColumnInfo, FormatEntries, FormatSkipping}
import io.sparkzorder.table.stats.{ColumnRange, FileRange}

/**
 * Prunes the files of a scan of an Iceberg table by the bounds in the table's manifests.
 *
 * Some tasks of the scan are left out. The others stay as Iceberg has planned them, with their delete files. The
 * bounds are looked up by the path of the file and by the id of the field in the schema by which the scan reads.
 *
 * @param snapshot the snapshot from which the bounds are read. Files that only another snapshot has are kept
 */
private[iceberg] final class IcebergSkipping(
    relation: DataSourceV2ScanRelation,
    table: BaseTable,
    snapshot: Snapshot)
    extends FormatBatchTable {
  import IcebergSkipping._

  override def name: String = relation.name

  private lazy val prunedBySpark: Set[String] = relation.scan match {
    case f: SupportsRuntimeV2Filtering => f.filterAttributes().map(_.fieldNames.head).toSet
    case _ => Set.empty
  }

  override def isPrunedBySpark(column: Attribute): Boolean =
    prunedBySpark.exists(SQLConf.get.resolver(_, column.name))

  override def known(filters: Seq[Expression], columns: TableColumns): FilterOnBounds = {
    // The schema by which the scan reads is only in its partitions, and the partitions are not planned yet. So this
    // method takes the schema by which the scan most likely reads.
    val isCurrent = Option(table.currentSnapshot).exists(_.snapshotId == snapshot.snapshotId)
    val schema =
      if (isCurrent) table.schema else SnapshotUtil.schemaFor(table, snapshot.snapshotId)
    val fields = fieldsOf(filters, schema)
    new FilterOnBounds(filters, columns, boundsOf(fields).named(namesOf(fields)), caseSensitive)
  }

  override def files(partitions: Array[InputPartition]): Long =
    partitions.iterator.flatMap(new Tasks(_).sizes.map(_._1)).toSet.size

  override def pruned(
      partitions: Array[InputPartition],
      filters: Seq[Expression],
      columns: TableColumns): PrunedPartitions = {
    val parts = partitions.map(new Tasks(_))
    // a file may be in several tasks
    val sizes = parts.iterator.flatMap(_.sizes).toMap
    def all = PrunedPartitions(partitions, sizes.size, sizes.size, sizes.values.sum)
    parts.headOption.fold(all) { first =>
      val fields = fieldsOf(filters, first.schema)
      val bounds = boundsOf(fields)
      val test = new FilterOnBounds(filters, columns, bounds.named(namesOf(fields)), caseSensitive)
      if (!test.isUseful) all
      else {
        def isKept(path: String): Boolean = {
          val at = bounds.position(path)
          at < 0 || test.kept.get(at)
        }
        val kept = sizes.filter { case (path, _) => isKept(path) }
        PrunedPartitions(
          parts.flatMap(_.kept(isKept)),
          sizes.size,
          kept.size,
          kept.values.sum)
      }
    }
  }

  private def caseSensitive: Boolean = SQLConf.get.caseSensitiveAnalysis

  /** The fields of the columns whose bounds can be compared with Spark's values. */
  private def fieldsOf(filters: Seq[Expression], schema: Schema): Seq[NestedField] =
    filters.flatMap(_.references).distinct.flatMap { a =>
      schema.asStruct.fields.asScala.find(f => SQLConf.get.resolver(f.name, a.name)).filter { f =>
        isComparable(f.`type`) && SparkSchemaUtil.convert(f.`type`) == a.dataType
      }
    }.groupBy(_.fieldId).map(_._2.head).toSeq

  private def namesOf(fields: Seq[NestedField]): Map[String, String] =
    fields.map(f => columnOf(f) -> f.name).toMap

  private def boundsOf(fields: Seq[NestedField]): FileBounds = {
    val state =
      (Option(table.operations.current.uuid).getOrElse(table.location), snapshot.snapshotId)
    FormatSkipping.bounds(
      ("iceberg", state),
      fields.map(columnOf).toSet,
      Settings.ofSession(Settings.SkippingCacheSize)) {
      wanted => load(wanted.toSeq.sorted)
    }
  }

  private def load(columns: Seq[String]): FileBounds = {
    val scan = table.newScan().useSnapshot(snapshot.snapshotId).ignoreResiduals()
    val read = columns.map(new BoundsOfField(_))
    // fields that the table got after the snapshot are left out, because the files do not have them
    val names = read.flatMap(r => Option(scan.schema.findColumnName(r.id)))
    val tasks =
      (if (names.isEmpty) scan else scan.includeColumnStats(names.asJava)).planFiles()
    val entries =
      try {
        val shape = LeafColumns(columns.map(Seq(_)))
        tasks.asScala.map { t =>
          val file = t.file
          val leaves = read.map(r =>
            FormatEntries.leaf(Seq(r.column), r.dataType, r.of(file), file.recordCount))
          FileEntry(file.location, file.fileSizeInBytes, 0L, file.recordCount, shape, leaves)
        }.toIndexedSeq
      } finally tasks.close()
    new FileBounds(IndexContent.of(entries))
  }
}

private[iceberg] object IcebergSkipping {

  /**
   * True for types whose bounds Iceberg orders as Spark orders their values. Floating-point numbers are not
   * among them, because bounds leave NaN out. UUIDs are not, because Spark sees them as texts, and older versions
   * of Iceberg order them by signed numbers.
   */
  def isComparable(t: Type): Boolean = t.typeId match {
    case Type.TypeID.INTEGER | Type.TypeID.LONG | Type.TypeID.DATE | Type.TypeID.BOOLEAN |
        Type.TypeID.DECIMAL | Type.TypeID.STRING =>
      true
    case Type.TypeID.TIMESTAMP => true
    case _ => false
  }

  /** A name for a column that never gets another meaning, by field id and type, such as `17 int`. */
  def columnOf(f: NestedField): String = s"${f.fieldId} ${f.`type`}"

  /**
   * The bounds of a field in the manifests.
   *
   * @param column as [[columnOf]] names it
   */
  final class BoundsOfField(val column: String) {
    private val Array(first, second) = column.split(" ", 2)
    private val stored: Type = Types.fromPrimitiveString(second)
    val id: Int = first.toInt
    val dataType: DataType = SparkSchemaUtil.convert(stored)
    private val values = new IcebergValues(id, stored, dataType)

    def of(file: DataFile): FileColumnInfo = {
      val info = values.of(file)
      (dataType, info.range) match {
        case (TimestampType | TimestampNTZType, FileRange(low: Long, high: Long))
            if !ImportedTimes.isSure(low) || !ImportedTimes.isSure(high) =>
          info.copy(range = ColumnRange.Unknown)
        case _ => info
      }
    }
  }

  /** The tasks of one partition of Iceberg's scan. The class of the partition is private to Iceberg. */
  final class Tasks(partition: InputPartition) {
    private val group: ScanTaskGroup[ScanTask] =
      called(partition, "taskGroup").asInstanceOf[ScanTaskGroup[ScanTask]]
    private val tasks: Seq[ScanTask] = group.tasks.asScala.toSeq

    /** The schema by which the files are read. */
    def schema: Schema =
      Seq("projection", "expectedSchema").flatMap(methodOf(partition, _)).headOption match {
        case Some(m) => m.invoke(partition).asInstanceOf[Schema]
        case None => throw new NoSuchMethodException("the schema of a partition")
      }

    /** Path and bytes of the file of each task. */
    def sizes: Seq[(String, Long)] =
      tasks.collect { case f: FileScanTask => f.file.location -> f.file.fileSizeInBytes }

    /** None if no task is left. */
    def kept(isKept: String => Boolean): Option[InputPartition] = {
      val left = tasks.filter {
        case f: FileScanTask => isKept(f.file.location)
        case _ => true
      }
      if (left.size == tasks.size) Some(partition)
      else if (left.isEmpty) None
      else Some(copyWith(new BaseScanTaskGroup[ScanTask](group.groupingKey, left.asJava)))
    }

    /**
     * The same partition with other tasks, made by reflection: each parameter of the only constructor is a field of
     * the same type. Each field that was passed to the constructor, apart from the tasks, must be equal in the copy.
     */
    private def copyWith(tasks: ScanTaskGroup[ScanTask]): InputPartition = {
      val fields = partition.getClass.getDeclaredFields
        .filterNot(f => Modifier.isStatic(f.getModifiers)).toSeq
      fields.foreach(_.setAccessible(true))
      val Array(constructor) = partition.getClass.getDeclaredConstructors: @unchecked
      constructor.setAccessible(true)
      val open = mutable.ListBuffer(fields: _*)
      val arguments = constructor.getParameterTypes.toSeq.map { t =>
        val field = open.find(_.getType == t).getOrElse(throw new NoSuchFieldException(t.getName))
        open -= field
        field
      }
      def isTasks(f: Field) = f.getType == classOf[ScanTaskGroup[_]]
      val made = constructor
        .newInstance(arguments.map(f => if (isTasks(f)) tasks else f.get(partition)): _*)
        .asInstanceOf[InputPartition]
      // fields that are not parameters are lazy, so they are not compared
      val wrong = arguments.filterNot { f =>
        if (isTasks(f)) f.get(made) eq tasks else f.get(made) == f.get(partition)
      }
      if (wrong.nonEmpty || arguments.count(isTasks) != 1) {
        throw new IllegalStateException(s"a partition of Iceberg has other fields: $fields")
      }
      made
    }
  }

  private def methodOf(of: AnyRef, name: String): Option[java.lang.reflect.Method] =
    of.getClass.getMethods.find(m => m.getName == name && m.getParameterCount == 0).map { m =>
      m.setAccessible(true)
      m
    }

  private def called(of: AnyRef, name: String): AnyRef =
    methodOf(of, name).getOrElse(throw new NoSuchMethodException(name)).invoke(of)
}
