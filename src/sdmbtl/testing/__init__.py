"""Conformance suites: run them on selectors, detectors and trainers that you wrote.

For example::

    import pytest
    from sdmbtl.testing import selector_checks

    @pytest.mark.parametrize("check", selector_checks(), ids=lambda check: check.__name__)
    def test_my_selector(check):
        check(MySelector)  # called as MySelector(space, seed=seed)

Those of trainers are in `sdmbtl.testing.trainers`, which needs Gymnasium. For environments there is
`sdmbtl.environments.check_contextual_env`.
"""

from sdmbtl.testing.detectors import detector_checks
from sdmbtl.testing.selectors import SelectorFactory, selector_checks
from sdmbtl.testing.spaces import example_matrix, example_spaces

__all__ = [
    "SelectorFactory",
    "detector_checks",
    "example_matrix",
    "example_spaces",
    "selector_checks",
]
