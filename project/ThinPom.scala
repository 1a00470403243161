// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

import scala.xml.{Elem, Node}
import scala.xml.transform.{RewriteRule, RuleTransformer}

/**
 * The POM of a thin jar: whatever it needs comes with Spark and is `provided`, so that `--packages`
 * fetches nothing else; what the tests need is nobody's business.
 */
object ThinPom {
  def apply(pom: Node): Node = new RuleTransformer(thin).transform(pom).head

  private val thin: RewriteRule = new RewriteRule {
    override def transform(node: Node): Seq[Node] = node match {
      case d: Elem if d.label == "dependency" =>
        (d \ "scope").text match {
          case "test" => Nil
          case "" => d.copy(child = d.child ++ <scope>provided</scope>)
          case _ => d
        }
      case e: Elem if e.label == "exclusions" => Nil
      case other => other
    }
  }
}
