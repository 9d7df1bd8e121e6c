"""SD-MBTL: who chooses when, on whose rows."""

import json

import pytest

from sdmbtl import make_selector
from sdmbtl.errors import SelectorError, StateError, StructureError
from sdmbtl.selectors import (
    GPSelector,
    IndependentTraining,
    MGPSelector,
    MountainSelector,
    RandomSelector,
    StructureDetectionSelector,
)
from sdmbtl.testing import example_matrix, example_spaces
from sdmbtl.transfer.detection import Detection, Detector, MountainDetector
from sdmbtl_lab.benchmarks import paper_configurations, simulate

CONFIGURATIONS = {c.name: c for c in paper_configurations(3, noise=5.0)}
MOUNTAIN = CONFIGURATIONS["3d-f-constant-g-linear-h-l1"]
OTHER = CONFIGURATIONS["3d-f-constant-g-linear-h-non-distance"]


class Alternating(Detector):
    """Says "even" and "odd" in turn."""

    structures = ("even", "odd")

    def detect(self, rows):
        return Detection("odd" if len(rows) % 2 else "even", f"{len(rows)} rows")


class Surprising(Alternating):
    """Returns what it did not announce."""

    def detect(self, rows):
        return Detection("surprise", "nobody knows why")


def alternating(space, detector=None, **options):
    strategies = {"even": GPSelector(space), "odd": MountainSelector(space)}
    return StructureDetectionSelector(
        space, detector or Alternating(), strategies, assumed="odd", **options
    )


def test_trial_carries_structure_and_reason():
    space = MOUNTAIN.space
    selector = MGPSelector(space)
    matrix = MOUNTAIN.matrix(0)
    for _ in range(5):
        trial = selector.ask()
        assert trial.structure is None
        assert "assumed" in trial.reason
        selector.tell(trial, matrix[trial.index])
    trial = selector.ask()
    assert trial.structure == "mountain"
    assert trial.model is None
    assert "falls on both sides in c1, c2, c3" in trial.reason
    assert selector.detection is not None
    assert selector.detection.slopes.falling.all()


def test_switching_keeps_both_sides_right():
    """Each strategy decides on all rows, whichever chose them: like a fresh one with these rows."""
    space = example_spaces()["grid"]
    matrix = example_matrix(space)
    selector = alternating(space, first_rounds=1)
    for _ in range(10):
        fresh = {"even": GPSelector(space), "odd": MountainSelector(space)}
        structure = "odd" if len(selector.rows) % 2 or len(selector.rows) < 2 else "even"
        for trial in selector.trials:
            fresh[structure].tell(trial.context, trial.row)
        expected = fresh[structure].ask()
        trial = selector.ask()
        assert trial.context == expected.context
        assert trial.strategy == fresh[structure].name
        selector.tell(trial, matrix[trial.index])


def test_strategies_must_cover_the_structures():
    space = example_spaces()["grid"]
    with pytest.raises(SelectorError, match="Unknown structure 'odd'; strategies: even"):
        StructureDetectionSelector(space, Alternating(), {"even": GPSelector(space)})
    selector = alternating(space, Surprising(), first_rounds=0)
    matrix = example_matrix(space)
    for index in (1, 2):
        selector.tell(space.target(index), matrix[index])
    with pytest.raises(SelectorError, match="Unknown structure 'surprise'"):
        selector.ask()


def strategies(name, configuration):
    """The strategy of each of nine rounds."""
    return simulate(make_selector(name, configuration.space), configuration.matrix(0), 9).strategies


def test_ablation_of_the_gaussian_process():
    assert strategies("m+random", MOUNTAIN) == ["m-mbtl"] * 9
    assert strategies("m+random", OTHER)[:6] == ["m-mbtl"] * 5 + ["random"]


def test_ablation_of_clustering_uses_the_gap_criterion_alone():
    assert strategies("gp+random", MOUNTAIN) == ["gp-mbtl"] * 9  # slopes fall on both sides
    assert strategies("gp+random", OTHER)[:2] == ["gp-mbtl"] * 2  # two rows are needed
    assert strategies("gp+random", OTHER)[5:] == ["random"] * 4


def test_the_paper_detects_by_signs_and_ours_by_unbiased_slopes():
    space = MOUNTAIN.space
    printed = make_selector("m/gp-mbtl", space).settings()["detector"]
    unbiased = make_selector("m/gp-mbtl-unbiased", space).settings()["detector"]
    assert printed == MountainDetector.as_in_the_paper().describe()
    assert unbiased == MountainDetector().describe()


def test_any_strategy_and_detector():
    space = example_spaces()["grid"]
    selector = MGPSelector(
        space,
        detector=MountainDetector.as_in_the_paper(),
        mountain=IndependentTraining(space),
        otherwise=RandomSelector(space),
        first_rounds=2,
    )
    assert [c.index for c in selector.ask(2)] == [0, 1]
    assert selector.settings()["strategies"]["mountain"]["selector"] == "independent"
    assert selector.settings()["detector"]["criteria"][1]["method"] == "relative"


PAPER = {
    "name": "mountain",
    "criteria": ["small variance", {"name": "slope", "method": "relative", "symmetry": None}],
}


class TestDetectorsAsData:
    def test_settings_make_the_same_selector_again(self):
        space = example_spaces()["grid"]
        selector = make_selector("m/gp-mbtl", space, detector=PAPER)
        assert selector.settings() == make_selector("m/gp-mbtl", space).settings()
        recorded = json.loads(json.dumps(selector.settings()))
        again = make_selector("m/gp-mbtl", space, detector=recorded["detector"])
        again.load_state_dict(json.loads(json.dumps(selector.state_dict())))
        with pytest.raises(StateError, match=r"criteria\[1\].method: recorded 'relative'"):
            make_selector("m/gp-mbtl-unbiased", space).load_state_dict(selector.state_dict())

    @pytest.mark.parametrize(
        ("detector", "message"),
        [
            ("montain", "Unknown detector 'montain'; known: mountain. Did you mean 'mountain'?"),
            ({"name": "mountain", "criterion": []}, "Unknown option 'criterion'"),
            ({"name": "mountain", "criteria": []}, "The 'criteria' of a detector must be a list"),
            ({"name": "mountain", "criteria": ["slop"]}, "Unknown criterion 'slop'.*'slope'"),
            ({"name": "mountain", "criteria": [{"name": "slope", "symmetry": 0}]}, "'symmetry'"),
            (7, "A detector is given by its name"),
        ],
    )
    def test_errors(self, detector, message):
        with pytest.raises(StructureError, match=message):
            make_selector("m/gp-mbtl", example_spaces()["grid"], detector=detector)
