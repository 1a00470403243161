import pytest

# a failed assertion in these helpers then shows its values
pytest.register_assert_rewrite("tests.support.optimizing")
