package io.sparkzorder.commands

/** The property `zorder.columns`: names separated by commas, quoted as in SQL where they need it. */
private[sparkzorder] object ColumnList {
  private val item = "(?:`(?:[^`]|``)*`|[^`,])+".r

  def split(text: String): Seq[String] =
    item.findAllIn(text).map(_.trim).filter(_.nonEmpty).toSeq
}
