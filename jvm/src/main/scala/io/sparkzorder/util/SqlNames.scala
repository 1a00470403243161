package io.sparkzorder.util

/** Names as SQL text has them. */
private[sparkzorder] object SqlNames {

  /** `name` in back quotes. */
  def quoted(name: String): String = "`" + name.replace("`", "``") + "`"
}
