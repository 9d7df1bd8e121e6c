import numpy as np
import pytest

from sdmbtl import ContextSpace
from sdmbtl.contexts import Source
from sdmbtl.errors import ExhaustedError, SelectorError, UnknownTrialError
from sdmbtl.selectors import GeneralistFirstSelector, TrainingRun
from sdmbtl.selectors.models.shortfall_model import USUAL_FORMS

SPACE = ContextSpace(a=np.linspace(0.0, 7.0, 8), b=np.linspace(0.0, 7.0, 8))
UNITS = SPACE.unit_targets
#: Solved but for one corner.
CORNER = np.where((UNITS > 0.6).all(axis=1), 10.0, 100.0)


def selector(**options):
    return GeneralistFirstSelector(SPACE, **{"steps": 1000, **options})


def after_the_generalist(row=CORNER, curve=(), **options):
    """A selector that knows a generalist, trained at once."""
    chosen = selector(**options)
    told = chosen.tell(SPACE.whole(steps=chosen.steps), row)
    if curve:
        run = TrainingRun(curve=tuple(curve), policy_sha256="0")
        chosen.record(told.updated(run=run))
    return chosen


def test_the_whole_space_comes_first_in_two_halves():
    chosen = selector(steps=1001)
    first = chosen.ask()
    assert first.source == SPACE.whole(steps=501)
    assert (first.strategy, first.model) == ("generalist", None)
    chosen.tell(first, CORNER)
    second = chosen.ask()
    assert second.source == SPACE.whole(parent=0, steps=501)
    assert (second.strategy, second.model) == ("generalist", None)
    assert "more often where it falls short" in second.reason
    chosen.tell(second, CORNER)
    assert chosen.ask().strategy == "specialist"


def test_from_scratch_or_of_unknown_length_the_generalist_is_one_run():
    for options in ({"init": "scratch"}, {"steps": None}):
        chosen = selector(**options)
        first = chosen.ask()
        assert first.steps == chosen.steps
        chosen.tell(first, CORNER)
        assert chosen.ask().strategy == "specialist"


def test_when_the_first_half_fails_nothing_is_continued():
    chosen = selector()
    chosen.tell(chosen.ask(), status="failed")
    assert chosen.ask().strategy == "specialist"


def test_then_a_specialist_where_most_is_missing_from_the_generalist():
    trial = after_the_generalist().ask()
    assert (trial.strategy, trial.model, trial.parent) == ("specialist", "shortfall", 0)
    assert (trial.width, trial.steps) == (0.25, 500)
    center = SPACE.to_unit(trial.source.vector)
    assert (center > 0.6).all()
    assert "A specialist from policy 0 (the best around it) is predicted to raise" in trial.reason
    assert "mostly for high a and high b" in trial.reason


def test_the_parent_is_the_best_around_the_region():
    chosen = after_the_generalist()
    specialist = Source.at([7.0, 7.0], width=0.1)
    chosen.tell(specialist, np.where(CORNER < 50, 60.0, 90.0))
    assert chosen.ask().parent == 1


def test_reported_policies_are_parents_only_if_their_weights_are_known():
    assert after_the_generalist(reported_parents=False).ask().parent is None
    curve = [(250, 10.0), (500, 20.0), (750, 20.0), (1000, 20.0)]
    assert after_the_generalist(curve=curve, reported_parents=False).ask().parent == 0


def test_a_region_that_cannot_be_solved_is_left_alone():
    row = np.where((UNITS < 0.3).all(axis=1), 40.0, CORNER)  # a smaller shortfall elsewhere
    chosen = after_the_generalist(row)
    hopeless = []
    for _ in range(4):
        trial = chosen.ask()
        hopeless.append(bool((SPACE.to_unit(trial.source.vector) > 0.5).all()))
        chosen.tell(trial, np.minimum(row, 99.0))  # adds nothing anywhere
    assert hopeless[0]
    assert not all(hopeless)


def test_the_generalist_is_continued_where_specialists_fail_and_it_still_learns():
    rising = [(250, 10.0), (500, 20.0), (750, 50.0), (1000, 80.0)]
    row = 50.0 + 10.0 * np.cos(7 * UNITS).prod(axis=1)  # something is missing everywhere
    row[0] = 100.0
    chosen = after_the_generalist(row, rising)
    for _ in range(6):
        trial = chosen.ask()
        if SPACE.is_whole(trial.source):
            break
        chosen.tell(trial, np.zeros(64))
    assert (trial.source, trial.strategy) == (SPACE.whole(parent=0, steps=1000), "generalist")
    assert trial.reason.startswith("Continuing the generalist")


def test_pending_specialists_count_as_predicted():
    chosen = after_the_generalist()
    first, second = chosen.ask(2)
    assert first.source.center != second.source.center or first.width != second.width
    assert second.expected_gain < first.expected_gain


def test_before_the_generalist_is_there_regions_are_spread_out():
    trials = selector().ask(4)
    assert SPACE.is_whole(trials[0].source)
    assert all(t.parent is None and not SPACE.is_whole(t.source) for t in trials[1:])
    assert len({t.source.center for t in trials[1:]}) == 3


def test_a_known_highest_return_bounds_the_forecast():
    chosen = after_the_generalist()
    chosen.return_range = (0.0, CORNER.mean() + 1e-3)
    assert chosen.ask().expected_gain == pytest.approx(1e-3)


def test_a_run_that_failed_to_learn_its_region_says_nothing_about_the_targets():
    def factors(row):
        chosen = after_the_generalist(init="scratch", width=0.25)
        trial = chosen.tell(chosen.ask(), row)
        fitted = chosen._fit(chosen.history)
        return trial.id in chosen.failed_runs(), fitted._alike(UNITS, 0.25), fitted._of_form

    inside = CORNER - 40.0
    failed, targets, forms = factors(np.where(CORNER < 50, -80.0, 100.0))
    assert failed
    assert (targets == 1).all()
    assert forms.min() < 1
    failed, targets, _ = factors(np.where(CORNER < 50, 10.0, inside))  # no better, no worse
    assert not failed
    assert targets.min() < 1


def test_the_settings_leave_ways_of_training():
    def forms(**options):
        return selector(**options).model.forms

    assert forms() == USUAL_FORMS
    assert {f.start for f in forms(init="scratch")} == {"scratch"}
    assert "scratch" not in {f.start for f in forms(init="parent")}
    assert {f.width for f in forms(width=0.3)} == {0.3}
    fixed = forms(specialist_steps=250)
    assert {f.length for f in fixed} == {0.25}
    assert [(f.width, f.start) for f in fixed if f.width == 0.25] == [
        (0.25, "best"),
        (0.25, "scratch"),
    ]
    assert {f.length for f in forms(steps=None)} == {1.0}


def answer(chosen, rounds, space):
    """Rows that differ a little, so that everything is tried in the end."""
    for number in range(rounds):
        trial = chosen.ask()
        chosen.tell(trial, 10.0 * np.arange(len(space)) + number % 3)


def test_when_nothing_is_left_forecasts_are_zero_and_asking_says_so():
    space = ContextSpace(m=[1.0, 2.0])
    chosen = GeneralistFirstSelector(space, init="scratch", width=0.25, specialist_steps=10)
    answer(chosen, 3, space)
    assert chosen.remaining_gain() == 0.0
    with pytest.raises(ExhaustedError, match="none is left"):
        chosen.ask()


def test_a_generalist_that_was_reported_is_not_trained_again():
    chosen = selector()
    chosen.tell(SPACE.whole(), CORNER)
    assert chosen.ask().strategy == "specialist"


def test_without_a_parent_a_start_from_one_is_not_promised():
    chosen = after_the_generalist(reported_parents=False)
    trial = chosen.ask()
    form = chosen.model.forms[chosen._nearest_form(trial.source)]
    assert (trial.parent, form.start) == (None, "scratch")
    assert "A specialist from scratch is predicted" in trial.reason


def test_a_context_names_the_pending_region_around_it():
    chosen = after_the_generalist()
    trial = chosen.ask()
    assert chosen.tell(trial.context, CORNER).id == trial.id
    assert not chosen.pending


def test_a_context_that_several_pending_regions_are_around_is_refused():
    chosen = after_the_generalist()
    trial = chosen.ask()
    wider = Source.at(trial.source.vector, 0.4)
    chosen.record(trial.updated(id=trial.id + 1, source=wider))
    with pytest.raises(UnknownTrialError, match="around .*: 1, 2. Tell the trial or its id"):
        chosen.tell(trial.context, CORNER)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"width": 1.0}, "'width' is 'auto', or a share.*Got 1.0"),
        ({"width": "wide"}, "'width' must be a finite number"),
        ({"init": "warm"}, "Unknown init 'warm'"),
        ({"steps": 0}, "'steps' must be a whole number >= 1"),
        ({"specialist_steps": 0}, "'specialist_steps' must be a whole number >= 1"),
        ({"reported_parents": 1}, "'reported_parents' must be"),
    ],
)
def test_unusable_settings(options, text):
    with pytest.raises(SelectorError, match=text):
        selector(**options)


def test_without_any_parent_there_is_nothing_to_propose():
    chosen = after_the_generalist(init="parent", reported_parents=False)
    with pytest.raises(ExhaustedError):
        chosen.ask()
