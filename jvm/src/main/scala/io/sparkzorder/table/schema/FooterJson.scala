// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table.schema

import scala.util.Try

import com.fasterxml.jackson.core.json.JsonWriteFeature
import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.json.JsonMapper
import com.fasterxml.jackson.databind.node.ObjectNode

/** JSON in the footers of other writers. */
private[schema] object FooterJson {
  // all in ASCII, which the footers of both formats hold
  private val mapper =
    JsonMapper.builder().enable(JsonWriteFeature.ESCAPE_NON_ASCII).build()

  /** The object of a text; None if the text is something else. */
  def read(text: String): Option[ObjectNode] =
    Try(mapper.readTree(text)).toOption.collect { case o: ObjectNode => o }

  def write(json: JsonNode): String = mapper.writeValueAsString(json)

  /** The same without some members; what is left is shared. */
  def without(json: ObjectNode, members: String*): ObjectNode = {
    val copy = mapper.createObjectNode()
    val _ = copy.setAll[JsonNode](json)
    members.foreach(m => copy.remove(m))
    copy
  }

  /**
   * Joins the values of a key that are equal but for some members. Only two of them are in memory as
   * objects at once.
   *
   * @param prepare changes an object before it is compared
   * @param join puts what both objects say in these members into the first one; false if they do not
   *   fit each other
   * @return the joined object, or what becomes of the key without one
   */
  def join(key: String, values: Seq[FooterValue], members: String*)(
      prepare: (ObjectNode, FooterValue) => Unit)(
      join: (ObjectNode, ObjectNode) => Boolean): Either[KeptKey, ObjectNode] = {
    val unreadable = KeptKey.dropped(key, "it cannot be read")
    val jsons = values.iterator.map { v =>
      val json = read(v.text)
      json.foreach(prepare(_, v))
      json
    }
    jsons.next() match {
      case None => Left(unreadable)
      case Some(joined) =>
        val rest = without(joined, members: _*)
        jsons.flatMap {
          case None => Some(unreadable)
          case Some(j) if rest == without(j, members: _*) && join(joined, j) => None
          case _ => Some(KeptKey.disagree(key))
        }.buffered.headOption.toLeft(joined)
    }
  }
}
