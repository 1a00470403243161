package io.sparkzorder.sources

import java.util.{HashMap => JHashMap}

import org.apache.spark.sql.catalyst.expressions.{Expression, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode, FalseLiteral}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.types.{DataType, IntegerType}
import org.apache.spark.unsafe.types.UTF8String

/**
 * The position of the folder of a file, INT.
 *
 * @param child path of the file, never null
 */
case class FolderOfFile(child: Expression, folders: FoldersByPath) extends UnaryExpression {
  override def nullable: Boolean = false
  override def dataType: DataType = IntegerType
  override def prettyName: String = "folder_of_file"
  // the default would print all paths
  override def toString: String = s"$prettyName($child)"
  override def stringArgs: Iterator[Any] = children.iterator

  override def eval(input: org.apache.spark.sql.catalyst.InternalRow): Any =
    folders.of(child.eval(input).asInstanceOf[UTF8String])

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val all = ctx.addReferenceObj("folders", folders)
    val path = child.genCode(ctx)
    ev.copy(
      code = code"""
        ${path.code}
        int ${ev.value} = $all.of(${path.value});
      """,
      isNull = FalseLiteral)
  }

  override def equals(other: Any): Boolean = other match {
    case that: FolderOfFile => child == that.child && (folders eq that.folders)
    case _ => false
  }

  override def hashCode(): Int = 31 * child.hashCode + System.identityHashCode(folders)

  override protected def withNewChildInternal(newChild: Expression): FolderOfFile =
    copy(child = newChild)
}

/**
 * Folders of files by their paths. Rows come file by file, so the last answer is kept.
 *
 * @param positions the folder's position of each path
 */
final class FoldersByPath(positions: Map[String, Int]) extends Serializable {
  // one object with final fields, so that a race between tasks of one JVM does no harm
  @transient private var last: (UTF8String, Int) = _

  @transient private lazy val byPath: JHashMap[UTF8String, Integer] = {
    val map = new JHashMap[UTF8String, Integer](positions.size * 2)
    positions.foreach { case (path, i) => map.put(UTF8String.fromString(path), i) }
    map
  }

  def of(path: UTF8String): Int = {
    val known = last
    if (known != null && known._1 == path) known._2
    else {
      val found = byPath.get(path)
      // a row of a file that was not asked for must never be written
      if (found == null)
        throw new IllegalStateException(s"a row of the unknown file $path was read")
      last = (path.clone(), found.intValue)
      found
    }
  }
}
