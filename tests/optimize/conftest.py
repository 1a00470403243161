# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Sessions of the tests of OPTIMIZE."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.support.optimizing import settings

INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@pytest.fixture(autouse=True, scope="module")
def interpreted(spark: SparkSession) -> Iterator[None]:
    """Run queries without generated code, which takes longer to compile than to run here.

    The tests of other folders run generated code, and so do `OptimizeSuite`, `OptimizeInputsSuite`
    and `OptimizeOrcSuite`.
    """
    with settings(spark, INTERPRETED):
        yield
