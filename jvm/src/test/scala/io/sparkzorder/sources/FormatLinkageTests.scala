// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources

import java.nio.file.{Files, Paths}

import scala.collection.JavaConverters._
import scala.collection.mutable
import scala.util.Try

import com.tngtech.archunit.thirdparty.org.objectweb.asm.{
  ClassReader,
  ClassVisitor,
  Handle,
  MethodVisitor,
  Opcodes,
  Type
}
import org.scalatest.funsuite.AnyFunSuite

/**
 * Whether the format's classes on the class path have all that our classes call, also where no other
 * suite comes: our classes may be compiled with another version.
 */
abstract class FormatLinkageTests(format: String) extends AnyFunSuite {
  private val loader = getClass.getClassLoader

  test(s"our classes find what they call of $format") {
    val called = classFiles.flatMap(references).toSet
    assert(called.size > 50)
    assert(called.filterNot(isThere).toSeq.sortBy(_.toString) === Nil)
  }

  test("what is not there is found missing") {
    val there = classFiles.flatMap(references).find(_.descriptor.startsWith("()")).get
    assert(isThere(there))
    assert(!isThere(there.copy(name = there.name + "Nowhere")))
    assert(!isThere(there.copy(descriptor = "()Lnothing;")))
    assert(!isThere(there.copy(owner = there.owner + "Nowhere")))
  }

  /** A method or a field that is named in a class file, as the file spells it. */
  private case class Reference(owner: String, name: String, descriptor: String)

  private def classFiles: Seq[Array[Byte]] = {
    val classes =
      Paths.get(classOf[TableFormat].getProtectionDomain.getCodeSource.getLocation.toURI)
    val files = Files.list(classes.resolve(s"io/sparkzorder/sources/$format"))
    try files.iterator.asScala.filter(_.toString.endsWith(".class")).map(Files.readAllBytes).toList
    finally files.close()
  }

  private def references(code: Array[Byte]): Set[Reference] = {
    val found = mutable.Set.empty[Reference]
    def add(owner: String, name: String, descriptor: String): Unit =
      if (isOfFormat(owner)) found += Reference(owner, name, descriptor)
    val methods = new MethodVisitor(Opcodes.ASM9) {
      override def visitMethodInsn(
          code: Int,
          owner: String,
          name: String,
          descriptor: String,
          isInterface: Boolean): Unit = add(owner, name, descriptor)
      override def visitFieldInsn(
          code: Int,
          owner: String,
          name: String,
          descriptor: String): Unit =
        add(owner, name, descriptor)
      override def visitInvokeDynamicInsn(
          name: String,
          descriptor: String,
          bootstrap: Handle,
          arguments: AnyRef*): Unit =
        arguments.foreach {
          case h: Handle => add(h.getOwner, h.getName, h.getDesc)
          case _ =>
        }
    }
    new ClassReader(code).accept(
      new ClassVisitor(Opcodes.ASM9) {
        override def visitMethod(
            access: Int,
            name: String,
            descriptor: String,
            signature: String,
            exceptions: Array[String]): MethodVisitor = methods
      },
      0)
    found.toSet
  }

  private def isOfFormat(owner: String): Boolean =
    Seq("org/apache/iceberg/", "org/apache/spark/sql/delta/", "io/delta/").exists(
      owner.startsWith)

  private def isThere(r: Reference): Boolean =
    Try(Class.forName(r.owner.replace('/', '.'), false, loader)).toOption.exists { owner =>
      val types = ancestors(owner)
      if (r.name == "<init>") {
        owner.getDeclaredConstructors.exists(Type.getConstructorDescriptor(_) == r.descriptor)
      } else if (r.descriptor.startsWith("(")) {
        types.exists(_.getDeclaredMethods.exists(m =>
          m.getName == r.name && Type.getMethodDescriptor(m) == r.descriptor))
      } else {
        types.exists(_.getDeclaredFields.exists(f =>
          f.getName == r.name && Type.getDescriptor(f.getType) == r.descriptor))
      }
    }

  private def ancestors(c: Class[_]): Set[Class[_]] =
    if (c == null) Set.empty
    else {
      (c.getInterfaces.toSet[Class[_]] ++ Option(c.getSuperclass) + classOf[Object])
        .filterNot(_ == c).flatMap(ancestors) + c
    }
}
