// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.dynamic

import org.scalatest.tags.Slow

/** The suites of joins without adaptive execution, which each change runs with it. */
@Slow
class NotAdaptiveReuseSuite extends ReuseSuite with NotAdaptive
@Slow
class NotAdaptiveBroadcastJoinSuite extends BroadcastJoinSuite with NotAdaptive
@Slow
class NotAdaptiveKeysLeftOutSuite extends KeysLeftOutSuite with NotAdaptive
@Slow
class NotAdaptiveSmallSideSuite extends SmallSideSuite with NotAdaptive
@Slow
class NotAdaptiveNotedKeysSuite extends NotedKeysSuite with NotAdaptive
@Slow
class NotAdaptiveScalarSubquerySuite extends ScalarSubquerySuite with NotAdaptive
@Slow
class NotAdaptiveReaderValuesSuite extends ReaderValuesSuite with NotAdaptive
@Slow
class NotAdaptiveShowJoinSkippingSuite extends ShowJoinSkippingSuite with NotAdaptive
