// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.util

import java.nio.ByteBuffer

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.SparkConf
import org.apache.spark.serializer.JavaSerializer

class OncePerJvmSuite extends AnyFunSuite {

  test("all copies that tasks read are one object; another object is another one") {
    val serializer = new JavaSerializer(new SparkConf(false)).newInstance()
    def bytes(o: OncePerJvmSuite.Large) = serializer.serialize((o, "task"))
    def read(bytes: ByteBuffer) =
      serializer.deserialize[(OncePerJvmSuite.Large, String)](bytes.duplicate())._1
    val (one, other) = (new OncePerJvmSuite.Large(7), new OncePerJvmSuite.Large(7))
    val (ofOne, ofOther) = (bytes(one), bytes(other))
    val first = read(ofOne)
    assert(first.value === 7 && (read(ofOne) eq first) && !(read(ofOther) eq first))
  }
}

object OncePerJvmSuite {
  final class Large(val value: Int) extends OncePerJvm
}
