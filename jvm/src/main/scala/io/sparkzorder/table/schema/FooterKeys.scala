// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table.schema

import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}

import scala.collection.mutable.LinkedHashMap

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.table.stats.ScannedFile

/**
 * The key-values of the footers of new files.
 *
 * @param lost what the footers of the inputs hold and those of the new files do not, as parts of a sentence
 */
private[sparkzorder] final case class KeptKeys(values: Map[String, String], lost: Seq[String])

/**
 * The value of a key in some files whose footers are equal.
 *
 * @param file one of the files
 * @param files the number of files
 * @param ofFastparquet true if the library fastparquet has written some of them
 */
private[schema] final case class FooterValue(
    text: String,
    file: String,
    files: Int,
    ofFastparquet: Boolean)

/**
 * What becomes of one key.
 *
 * @param value the value in the new files; None if the key is dropped
 * @param lost what the new files lose, as in [[KeptKeys]]
 */
private[schema] final case class KeptKey(value: Option[String], lost: Seq[String])

private[schema] object KeptKey {
  def dropped(key: String, why: String): KeptKey =
    KeptKey(None, Seq(s"the footer key `$key` is dropped: $why"))

  def disagree(key: String): KeptKey = dropped(key, "the files disagree on it")
}

/** A key whose values can be joined, because their form is known. */
private[schema] trait KnownKey {

  /** Data that only this value holds and no column does. A rewritten file would lose the data. */
  def held(value: String): Seq[String] = Nil

  /** @param rows number of rows of all files */
  def join(values: Seq[FooterValue], rows: Long): KeptKey
}

/**
 * Merges the footer key-values of several files. Keys of a known form are joined. Any other key stays if
 * all files have the same value. Spark's own keys are left out, because Spark writes them into each new
 * file.
 *
 * The caller leaves files without rows out if other files have rows: the footer of an empty file does not
 * describe any row.
 *
 * @param mayLose whether data that only a footer holds may be lost
 */
private[sparkzorder] final class FooterKeys(mayLose: Boolean) {
  import FooterKeys._

  /**
   * @param isOfEachFile whether all files have the columns and fields of the new files
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_FOOTER_HOLDS_DATA, naming a file
   */
  def merge(files: Seq[ScannedFile], isOfEachFile: Boolean): KeptKeys = {
    val footers = LinkedHashMap.empty[Map[String, String], FooterValue]
    files.foreach { f =>
      val made = f.createdBy.startsWith("fastparquet")
      val keys = if (f.orc.isEmpty) f.keyValues else ofOrc(f.keyValues)
      val same = footers.getOrElse(keys, FooterValue("", f.file.path.toString, 0, made))
      footers(keys) =
        same.copy(files = same.files + 1, ofFastparquet = same.ofFastparquet || made)
    }
    val held = footers.toSeq.flatMap { case (keys, source) =>
      val found = heldBy(keys)
      if (!mayLose)
        found.headOption.foreach(h => throw ZOrderErrors.footerHoldsData(source.file, h))
      found
    }
    val kept = merged(footers.toSeq, files.map(_.rows).sum, isOfEachFile)
    KeptKeys(kept.values, (held.map(h => s"lost is $h") ++ kept.lost).distinct)
  }

  /**
   * ORC footers hold values as bytes. They were decoded as Latin-1, but known keys have values in UTF-8.
   */
  private def ofOrc(keys: Map[String, String]): Map[String, String] = keys.map {
    case (key, value) if Known.contains(key) => key -> new String(value.getBytes(ISO_8859_1), UTF_8)
    case other => other
  }

  private def heldBy(keys: Map[String, String]): Seq[String] =
    keys.toSeq.sortBy(_._1).flatMap {
      case (ArrowSchemaKey.Name, text) =>
        ArrowSchemaKey.ordered(text) ++ heldBy(ArrowSchemaKey.metadata(text))
      case (key, text) => Known.get(key).toSeq.flatMap(_.held(text))
    }.distinct

  private def merged(
      footers: Seq[(Map[String, String], FooterValue)],
      rows: Long,
      isOfEachFile: Boolean): KeptKeys = {
    val names = footers.flatMap(_._1.keys).distinct.sorted
      .filterNot(_.startsWith("org.apache.spark."))
    val keys = names.map { name =>
      val values = footers.flatMap { case (keys, source) =>
        keys.get(name).map(text => source.copy(text = text))
      }
      name -> (
        if (values.size < footers.size) KeptKey.dropped(name, "only some of the files have it")
        else if (Schemas(name) && !isOfEachFile) {
          KeptKey.dropped(name, "not all files have the columns and types of the new files")
        } else if (name == ArrowSchemaKey.Name) {
          val copies = footers.map { case (keys, source) =>
            ArrowSchemaKey.metadata(keys(name)) -> source
          }
          ArrowSchemaKey.join(values, merged(copies, rows, isOfEachFile))
        } else if (Known.contains(name)) Known(name).join(values, rows)
        else if (values.forall(_.text == values.head.text)) KeptKey(Some(values.head.text), Nil)
        else KeptKey.disagree(name))
    }
    KeptKeys(
      keys.flatMap { case (name, key) => key.value.map(name -> _) }.toMap,
      keys.flatMap(_._2.lost).distinct)
  }
}

private object FooterKeys {
  private val Known: Map[String, KnownKey] =
    Map(PandasKey.Name -> PandasKey, GeoKey.Name -> GeoKey)

  /**
   * Keys in which other libraries keep a schema of their own. Such a schema stays only where all files have
   * exactly the new files' columns and fields: Arrow gives its types to columns and fields by position.
   */
  private val Schemas: Set[String] = Set(
    ArrowSchemaKey.Name,
    PandasKey.Name,
    "parquet.avro.schema",
    "avro.schema",
    "iceberg.schema")
}
