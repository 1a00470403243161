package io.sparkzorder.sources

import io.sparkzorder.util.OwnJar

/**
 * Class loaders for our classes that call those of a format.
 *
 * Spark has the jars of `--jars` and `--packages` in a class loader that sees the class path of the
 * driver, but not the other way round. If our jar is on the class path, and the format's jar is not,
 * our own class loader does not find the format's classes.
 */
private[sources] object FormatLoaders {

  /** A class of each format. */
  private val markers = Map(
    "delta" -> "org.apache.spark.sql.delta.DeltaLog",
    "iceberg" -> "org.apache.iceberg.BaseTable")

  // kept by the format's class, so that a copy lives as long as the format's class loader
  private val copies = new ClassValue[ClassLoader] {
    override protected def computeValue(theirs: Class[_]): ClassLoader =
      new CopyingLoader(own, theirs.getClassLoader)
  }

  private def own: ClassLoader = getClass.getClassLoader

  /**
   * @param seen a class loader that finds the format's classes, such as that of a table's class
   * @return our own class loader if it finds the same classes of the format, else one that has copies
   *   of our classes; always the same one for the same classes of the format
   * @throws ClassNotFoundException if `seen` does not find the format's classes
   */
  def of(format: String, seen: ClassLoader): ClassLoader = {
    val theirs = Class.forName(markers(format), false, seen)
    if (find(format, own).contains(theirs)) own else copies.get(theirs)
  }

  /** The same if there is no object of the format yet: for the classes that this thread finds. */
  def of(format: String): ClassLoader = {
    def context = Option(Thread.currentThread.getContextClassLoader).flatMap(find(format, _))
    if (find(format, own).isDefined) own
    else copies.get(context.getOrElse(throw new ClassNotFoundException(markers(format))))
  }

  private def find(format: String, loader: ClassLoader): Option[Class[_]] =
    try Some(Class.forName(markers(format), false, loader))
    catch { case _: ClassNotFoundException => None }
}

/**
 * Defines the classes of `io.sparkzorder.sources.<format>` once more, beside the format's classes. They run
 * in the driver alone, so that no copy meets an original: nothing else names them but [[TableFormats]].
 */
private final class CopyingLoader(ours: ClassLoader, theirs: ClassLoader)
    extends ClassLoader(theirs) {

  override protected def loadClass(name: String, resolve: Boolean): Class[_] =
    if (isCopied(name)) getClassLoadingLock(name).synchronized {
      Option(findLoadedClass(name)).getOrElse(copied(name))
    }
    else if (name.startsWith("io.sparkzorder.")) ours.loadClass(name)
    else super.loadClass(name, resolve)

  private def isCopied(name: String): Boolean = CopyingLoader.Packages.exists(name.startsWith)

  private def copied(name: String): Class[_] = {
    val file = OwnJar.resource(name.replace('.', '/') + ".class")
    if (file == null) throw new ClassNotFoundException(name)
    val code = org.apache.commons.io.IOUtils.toByteArray(file)
    defineClass(name, code, 0, code.length)
  }
}

private object CopyingLoader {
  private val Packages = Seq("delta", "iceberg").map(f => s"io.sparkzorder.sources.$f.")
}
