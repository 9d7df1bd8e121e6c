import pytest
from small_study import open_small


@pytest.fixture(scope="session")
def study(tmp_path_factory):
    """Three policies, each trained on a point; not to be changed."""
    study = open_small(tmp_path_factory.mktemp("callbacks") / "study")
    study.run(budget=3)
    return study
