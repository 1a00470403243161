# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

import copy
import pickle

import pytest

from spark_zorder import MissingExtensionError


@pytest.mark.parametrize("version", ["4.1.1", "2.4.8"])
def test_an_error_from_another_process_has_its_message(version: str) -> None:
    error = MissingExtensionError(version)
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(other) is MissingExtensionError
        assert str(other) == str(error)
        assert other.spark_version == version
