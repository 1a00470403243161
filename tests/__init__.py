import pytest

# so that a failed assertion of these helpers shows its values
pytest.register_assert_rewrite("tests.support.optimizing")
