package io.sparkzorder.sql

import org.antlr.v4.runtime.{CharStream, CodePointCharStream, IntStream}
import org.antlr.v4.runtime.misc.Interval

/**
 * Gives the lexer upper case, so that keywords match in any case. `getText` returns the text as it
 * was written. (ANTLR's own option for this is newer than the ANTLR of Spark 3.5.)
 */
private[sql] final class UpperCaseCharStream(text: CodePointCharStream) extends CharStream {
  override def LA(i: Int): Int = {
    val c = text.LA(i)
    if (c == 0 || c == IntStream.EOF) c else Character.toUpperCase(c)
  }

  override def getText(interval: Interval): String = text.getText(interval)
  override def consume(): Unit = text.consume()
  override def mark(): Int = text.mark()
  override def release(marker: Int): Unit = text.release(marker)
  override def index(): Int = text.index()
  override def seek(index: Int): Unit = text.seek(index)
  override def size(): Int = text.size()
  override def getSourceName: String = text.getSourceName
}
