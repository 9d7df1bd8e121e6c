"""Conformance checks of structure detectors; each raises AssertionError with a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np

from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import StructureError
from sdmbtl.json_data import as_json
from sdmbtl.testing.spaces import example_matrix, example_spaces
from sdmbtl.transfer import ObservedRows
from sdmbtl.transfer.detection import Detector, make_detector

#: Called without arguments.
DetectorFactory = Callable[[], Detector]
DetectorCheck = Callable[[DetectorFactory], None]


def detector_checks() -> tuple[DetectorCheck, ...]:
    """Return every check; each takes a factory `factory()`."""
    return tuple(value for name, value in globals().items() if name.startswith("check_"))


def check_returns_one_of_its_structures(factory: DetectorFactory) -> None:
    """Every space gives a structure that the detector names, with an explanation."""
    detector = factory()
    for name, space in example_spaces().items():
        if len(space) < detector.min_rows:
            continue
        detection = detector.detect(_rows(space))
        known = detector.structures
        assert detection.structure in known, f"{name}: {detection.structure!r} is not in {known}"
        assert detection.explanation.strip(), f"{name}: a detection needs an explanation"
        json.dumps(as_json(detection), allow_nan=False)


def check_depends_on_the_rows_alone(factory: DetectorFactory) -> None:
    """The same rows give the same detection again, and stay as they are."""
    rows = _rows(ContextSpace(a=range(4), b=range(3)))
    before, detector = rows.returns.copy(), factory()
    detections = detector.detect(rows), detector.detect(rows), factory().detect(rows)
    first, again, other = map(as_json, detections)
    assert first == again == other, "a detection must repeat itself"
    assert np.array_equal(before, rows.returns), "a detector must not change the rows"


def check_refuses_too_few_rows(factory: DetectorFactory) -> None:
    """Fewer rows than `min_rows` are a StructureError."""
    detector, rows = factory(), _rows(ContextSpace(a=range(5)))
    count = detector.min_rows - 1
    try:
        detector.detect(ObservedRows(rows.space, rows.sources[:count], rows.returns[:count]))
    except StructureError:
        return
    raise AssertionError(f"fewer than {detector.min_rows} rows must be refused: call check_rows")


def check_is_made_again_from_its_description(factory: DetectorFactory) -> None:
    """`describe()` is JSON data from which `make_detector` makes an equal detector."""
    described = json.loads(json.dumps(factory().describe()))
    assert make_detector(described).describe() == described, "describe() must hold every setting"


def _rows(space: ContextSpace) -> ObservedRows:
    return ObservedRows(space, space.targets[:6], example_matrix(space)[:6])
