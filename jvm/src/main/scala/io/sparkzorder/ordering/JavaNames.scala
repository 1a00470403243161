package io.sparkzorder.ordering

/** The names by which generated Java code calls Scala objects. */
private[sparkzorder] object JavaNames {

  /** The class that has the static forwarders of a Scala object's methods. */
  def of(scalaObject: AnyRef): String = scalaObject.getClass.getName.stripSuffix("$")
}
