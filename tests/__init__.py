# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

import pytest

# a failed assertion in these helpers then shows its values
pytest.register_assert_rewrite("tests.support.optimizing")
