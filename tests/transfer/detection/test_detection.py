"""Criteria and detectors: what is Mountain, what is not, and what they say about it."""

import json
import math

import numpy as np
import pytest

from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import StructureError
from sdmbtl.json_data import as_json
from sdmbtl.transfer import ObservedRows
from sdmbtl.transfer.detection import (
    MOUNTAIN,
    NO_STRUCTURE,
    Criterion,
    CriterionResult,
    Detection,
    Detector,
    MountainDetector,
    SlopeCriterion,
    SmallVarianceCriterion,
)

CUBE = ContextSpace(length=range(4), mass=range(5), pole=range(3))
SOURCES = CUBE.targets[[0, 13, 22, 36, 45, 59]]
DOWN, UP = -3.0, 3.0


def synthetic(
    left=(DOWN, DOWN, DOWN),
    right=(DOWN, DOWN, DOWN),
    quality=(0.0, 0.0, 0.0),
    difficulty=3.0,
    noise=0.0,
    space=CUBE,
    sources=SOURCES,
):
    """Rows of the paper's synthetic model, in unit coordinates."""
    x, y = space.to_unit(sources)[:, None, :], space.unit_targets[None, :, :]
    h = np.maximum(y - x, 0) @ np.array(left) + np.maximum(x - y, 0) @ np.array(right)
    returns = 500 + x @ np.array(quality) + difficulty * y.sum(axis=2) + h
    returns += noise * np.random.default_rng(0).normal(size=returns.shape)
    return ObservedRows(space, sources, returns)


def random_rows(seed=0, missing=0.0, k=6):
    rng = np.random.default_rng(seed)
    returns = rng.normal(size=(k, len(CUBE)))
    returns[rng.random(returns.shape) < missing] = np.nan
    return ObservedRows(CUBE, CUBE.targets[rng.permutation(len(CUBE))[:k]], returns)


class TestMountainDetector:
    @pytest.mark.parametrize("detector", [MountainDetector(), MountainDetector.as_in_the_paper()])
    @pytest.mark.parametrize("difficulty", [0.0, 3.0, 50.0])
    @pytest.mark.parametrize("noise", [0.0, 0.3])
    def test_a_mountain(self, detector, difficulty, noise):
        detection = detector.detect(synthetic(difficulty=difficulty, noise=noise))
        assert detection.structure == MOUNTAIN == "mountain"
        assert [c.passed for c in detection.criteria] == [True, True]

    def test_one_sided_is_not_a_mountain(self):
        detection = MountainDetector().detect(synthetic(left=(1.0, 1.0, DOWN)))
        assert detection.structure == NO_STRUCTURE == "none"
        assert [c.passed for c in detection.criteria] == [True, False]
        assert detection.explanation == (
            "performance falls on both sides in pole, does not fall on both sides in length, mass"
        )

    def test_policies_of_different_quality_are_no_mountain(self):
        rows = synthetic(quality=(4.0, 4.0, 4.0))
        detection = MountainDetector().detect(rows)
        assert detection.structure == NO_STRUCTURE
        assert not detection.criteria[0].passed
        assert detection.explanation.startswith("policies do not differ less from one another, ")

    @pytest.mark.parametrize("missing", [0.3, 0.6])
    def test_partial_rows(self, missing):
        full = synthetic(noise=0.1)
        holes = np.random.default_rng(1).random(full.returns.shape) < missing
        holes[np.arange(6), full.source_positions] = False
        rows = ObservedRows(CUBE, SOURCES, np.where(holes, np.nan, full.returns))
        detection = MountainDetector().detect(rows)
        assert detection.structure == MOUNTAIN
        np.testing.assert_allclose(detection.slopes.left, [DOWN] * 3, atol=0.5)

    def test_description(self):
        assert MountainDetector().structures == (MOUNTAIN, NO_STRUCTURE)
        assert MountainDetector.min_rows == 2
        assert MountainDetector().describe() == {
            "name": "mountain",
            "criteria": [
                {"name": "small variance"},
                {"name": "slope", "method": "within", "majority": 0.5, "symmetry": 3.0},
            ],
        }
        paper = MountainDetector.as_in_the_paper().describe()
        assert paper["criteria"] == [
            {"name": "small variance"},
            {"name": "slope", "method": "relative", "majority": 0.5, "symmetry": None},
        ]
        json.dumps(paper, allow_nan=False)

    @pytest.mark.parametrize("k", [0, 1])
    def test_too_few_rows(self, k):
        rows = ObservedRows(CUBE, SOURCES[:k], synthetic().returns[:k])
        with pytest.raises(StructureError) as caught:
            MountainDetector().detect(rows)
        assert str(caught.value) == (f"Detection needs the rows of at least 2 policies. Got {k}.")


class TestSmallVariance:
    @pytest.mark.parametrize("missing", [0.0, 0.4])
    @pytest.mark.parametrize("seed", range(3))
    def test_against_the_formula(self, seed, missing):
        rows = random_rows(seed, missing)
        on_source, over_targets = [], []
        for i in range(len(rows)):
            relative = []
            for j in range(len(CUBE)):
                column = [v for v in rows.returns[:, j] if not math.isnan(v)]
                if not math.isnan(rows.returns[i, j]):
                    relative.append(rows.returns[i, j] - sum(column) / len(column))
                if j == rows.source_positions[i] and not math.isnan(rows.returns[i, j]):
                    on_source.append(rows.returns[i, j] - sum(column) / len(column))
            over_targets.append(np.std(relative))
        result = SmallVarianceCriterion().evaluate(rows)
        assert result.value == pytest.approx(np.std(on_source))
        assert result.threshold == pytest.approx(np.mean(over_targets))
        assert result.passed is bool(np.std(on_source) < np.mean(over_targets))
        assert result.name == "small variance"
        assert result.slopes is None

    @pytest.mark.parametrize("known", [0, 1])
    def test_policies_that_were_not_evaluated_on_their_own_context(self, known):
        rows = synthetic()
        returns = rows.returns.copy()
        unknown = np.arange(known, 6)
        returns[unknown, rows.source_positions[unknown]] = np.nan
        partial = ObservedRows(CUBE, SOURCES, returns)
        result = SmallVarianceCriterion().evaluate(partial)
        assert result.value == math.inf
        assert result.passed is False
        assert json.loads(json.dumps(as_json(result), allow_nan=False))["value"] is None

    def test_equality_does_not_pass(self):
        space = ContextSpace(a=range(2))
        rows = ObservedRows(space, [[0], [0]], [[2.0, 0.0], [0.0, 2.0]])
        result = SmallVarianceCriterion().evaluate(rows)
        assert result.value == result.threshold == 1.0
        assert result.passed is False


class TestSlopeCriterion:
    @pytest.mark.parametrize("falling", [0, 1, 2, 3])
    def test_share_and_majority(self, falling):
        left = [DOWN] * falling + [UP] * (3 - falling)
        result = SlopeCriterion().evaluate(synthetic(left=left))
        assert result.value == pytest.approx(falling / 3)
        assert result.threshold == 0.5
        assert result.passed is (falling >= 2)
        assert result.name == "slope"

    @pytest.mark.parametrize(("steeper", "passed"), [(1.0, True), (2.9, True), (3.1, False)])
    def test_a_tilted_ridge_is_not_a_distance(self, steeper, passed):
        for left, right in ((DOWN * steeper, DOWN), (DOWN, DOWN * steeper)):
            rows = synthetic(left=(left,) * 3, right=(right,) * 3)
            result = SlopeCriterion().evaluate(rows)
            assert result.passed is passed
            assert result.value == (1.0 if passed else 0.0)
            assert SlopeCriterion(symmetry=None).evaluate(rows).passed
            assert SlopeCriterion(symmetry=3.2).evaluate(rows).passed

    def test_an_unknown_dimension_does_not_count(self):
        space = ContextSpace(a=range(4), b=range(4), c=range(4))
        sources = [[0, 1, 1], [1, 1, 1], [3, 1, 1]]
        rows = synthetic(space=space, sources=sources)
        result = SlopeCriterion().evaluate(rows)
        assert result.value == 1.0
        assert result.passed
        assert result.explanation == ("performance falls on both sides in a, is not known in b, c")


class Fixed(Criterion):
    """A criterion of somebody else, with an answer given in advance."""

    name = "fixed"

    def __init__(self, result):
        self.result = result

    def evaluate(self, rows):
        return self.result


class BestPolicyDetector(Detector):
    """A detector of somebody else, with a structure of its own."""

    structures = ("one for all", NO_STRUCTURE)

    def detect(self, rows):
        best = len(set(rows.returns.argmax(axis=0).tolist()))
        return Detection(self.structures[0] if best == 1 else NO_STRUCTURE, f"{best} are best")


class TestExtension:
    def test_a_criterion_of_my_own(self):
        no = CriterionResult("fixed", False, 3.0, 4.0, "I said so")
        detector = MountainDetector([SlopeCriterion(), Fixed(no)])
        detection = detector.detect(synthetic())
        assert detection.structure == NO_STRUCTURE
        assert detection.explanation == "I said so"
        assert detection.slopes is not None
        assert detector.describe()["criteria"][1] == {"name": "fixed"}

    def test_a_detector_of_my_own(self):
        detector = BestPolicyDetector()
        rows = ObservedRows(CUBE, SOURCES[:2], [[1.0] * 60, [2.0] * 60])
        assert detector.detect(rows) == Detection("one for all", "1 are best")
        assert detector.detect(synthetic()).structure == NO_STRUCTURE
        assert detector.describe() == {"name": "BestPolicyDetector"}
        assert detector.min_rows == 2

    def test_detection_as_json(self):
        detection = MountainDetector().detect(synthetic())
        data = json.loads(json.dumps(as_json(detection), allow_nan=False))
        assert list(data) == ["structure", "explanation", "criteria"]
        assert data["structure"] == MOUNTAIN
        small_variance, slope = data["criteria"]
        assert small_variance["slopes"] is None
        assert small_variance["passed"] is True
        assert small_variance["value"] == detection.criteria[0].value
        assert small_variance["threshold"] == detection.criteria[0].threshold
        assert slope["slopes"] == detection.slopes.to_dict()
        assert slope["explanation"] == detection.criteria[1].explanation
