"""Categories, discrete values and valid combinations: nothing else is ever drawn or shown."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdmbtl import ContextSpace, Interval, Levels, Source, make_selector
from sdmbtl.contexts import Categories, load_space
from sdmbtl.contexts.constraint import Constraint
from sdmbtl.environments.checks import _differing, _ends
from sdmbtl.errors import ContextError

GROUND = ContextSpace(ground=["road", "ice", "mud"], mass=[1.0, 2.0], wet=[False, True])


class TestCategories:
    def test_contexts_have_texts_and_arrays_numbers(self):
        assert GROUND.target(5) == {"ground": "ice", "mass": 1.0, "wet": 1.0}
        assert GROUND.targets[5].tolist() == [1.0, 1.0, 1.0]
        assert GROUND.find({"ground": "ice", "mass": 1, "wet": True}) == 5

    def test_any_two_categories_are_one_apart(self):
        units = GROUND.to_unit([[c, 1.0, 0.0] for c in range(3)])
        for first, second in itertools.combinations(units, 2):
            assert np.abs(first - second).sum() == 1.0
        assert GROUND.n_units == 5
        assert np.array_equal(GROUND.from_unit(GROUND.unit_targets), GROUND.targets)

    def test_a_region_around_a_category_is_that_category(self):
        source = Source.at(GROUND.vector(["ice", 1.0, False]), width=0.9)
        assert GROUND.region(source)["ground"] == ("ice",)
        assert {GROUND.target(i)["ground"] for i in np.flatnonzero(GROUND.targets_in(source))} == {
            "ice"
        }
        assert GROUND.describe(source) == "ground ice, mass 1-1.45, wet 0"
        assert GROUND.region(GROUND.whole())["ground"] == ("road", "ice", "mud")

    def test_there_and_back(self):
        again = ContextSpace.from_dict(json.loads(json.dumps(GROUND.to_dict())))
        assert again == GROUND
        assert isinstance(again.dimensions["ground"], Categories)

    @pytest.mark.parametrize(
        ("context", "text"),
        [
            (
                {"ground": "mudd", "mass": 1, "wet": 0},
                "'ground': Unknown category.*Did you mean 'mud'",
            ),
            ({"ground": 7, "mass": 1, "wet": 0}, "'ground': Unknown category 7"),
            ({"ground": "ice", "mass": 1, "wet": 0.5}, "'wet': There is nothing between"),
        ],
    )
    def test_values_that_do_not_exist(self, context, text):
        with pytest.raises(ContextError, match=text):
            GROUND.vector(context)

    @pytest.mark.parametrize("values", [["a", "a"], ["a", ""], ["a\n"]])
    def test_unusable_categories(self, values):
        with pytest.raises(ContextError, match="[cC]ategor"):
            ContextSpace(ground=values)


class TestDiscrete:
    def test_the_middle_and_regions_have_values_that_exist(self):
        space = ContextSpace(heavy=[False, True], size=Levels([9, 11, 13], discrete=True))
        whole = space.whole()
        assert space.is_whole(whole)
        assert space.find(whole.vector) is not None
        assert space.targets_in(whole).all()
        around = Source.at([1.0, 9.0], width=0.25)
        assert space.describe(around) == "heavy 1, size 9"
        assert space.describe(Source.at([1.0, 9.0], width=0.999)) == "heavy 1, size 9"
        assert space.describe(Source.at([0.0, 11.0], width=0.999)) == "heavy 0, size 11"

    def test_listed_targets(self):
        with pytest.raises(ContextError, match="Target 1 has size=10, which is not one"):
            ContextSpace([[9.0], [10.0]], size=Levels([9, 11], discrete=True))


DIMENSIONS = {"m": Levels([1, 2, 4]), "g": Interval(1, 20), "k": Categories(["a", "b"])}


class TestExpression:
    @pytest.mark.parametrize(
        ("text", "python"),
        [
            ("m * g < 40", lambda m, g, k: m * g < 40),
            ("1 < m <= g", lambda m, g, k: 1 < m <= g),
            ("k == 'a' or m > 2", lambda m, g, k: k == 0 or m > 2),
            ("not (k in ['b'] and g / m >= 3)", lambda m, g, k: not (k == 1 and g / m >= 3)),
            ("k not in ('a', 'b') or -m ** 2 + g % 3 > -5", lambda m, g, k: -(m**2) + g % 3 > -5),
            ("max(m, g) - min(m, 3) > abs(m - g) // 2", lambda m, g, k: max(m, g) - min(m, 3) > abs(m - g) // 2),  # noqa: E501
        ],
    )  # fmt: skip
    def test_equals_python(self, text, python):
        rng = np.random.default_rng(0)
        vectors = np.column_stack(
            [rng.choice([1.0, 2, 4], 200), rng.uniform(1, 20, 200), rng.integers(0, 2, 200)]
        )
        expected = [bool(python(*vector)) for vector in vectors.tolist()]
        assert Constraint(text, DIMENSIONS).holds(vectors).tolist() == expected

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("mass < 3", "Unknown name"),
            ("m <", "not an expression"),
            ("__import__('os').system('true')", "not allowed"),
            ("open('x')", "Unknown function"),
            (f"{'9' * 900} > m", "cannot be computed"),
            ("m.real < 3", "not allowed"),
            ("[m for m in g]", "not allowed"),
            ("(lambda: 1)()", "not allowed"),
            ("k < 'b'", "no order"),
            ("k == 'c'", "Unknown category 'c'"),
            ("m == 'a'", "a dimension of categories only"),
            ("m in g", "followed by a list"),
            ("'a'", "cannot be computed"),
            ("m & 1", "not allowed"),
            ("(" * 300 + "m" + ")" * 300, "not an expression"),
            ("m + " * 400 + "m", "at most 1000"),
        ],
    )
    def test_anything_else_is_refused(self, text, problem):
        with pytest.raises(ContextError, match=problem):
            Constraint(text, DIMENSIONS)


class TestValid:
    def test_grid_list_and_sample(self):
        grid = ContextSpace(m=[1, 2, 4], g=[5, 10], valid="m * g < 25")
        assert [tuple(t.values()) for t in grid] == [(1, 5), (1, 10), (2, 5), (2, 10), (4, 5)]
        by_function = ContextSpace(m=[1, 2, 4], g=[5, 10], valid=lambda c: c["m"] * c["g"] < 25)
        assert np.array_equal(by_function.targets, grid.targets)
        sample = ContextSpace.sample(50, m=Interval(0, 1), g=Interval(0, 1), valid="m < g")
        assert len(sample) == 50
        assert (sample.targets[:, 0] < sample.targets[:, 1]).all()
        for space in (grid, sample):
            assert ContextSpace.from_dict(json.loads(json.dumps(space.to_dict()))) == space

    @pytest.mark.parametrize(
        ("given_", "text"),
        [
            ({"m": [1, 2], "valid": "m > 5"}, "No combination"),
            ({"m": [1, 2], "valid": 5}, "'valid' is an expression"),
        ],
    )
    def test_problems(self, given_, text):
        with pytest.raises(ContextError, match=text):
            ContextSpace(**given_)
        with pytest.raises(ContextError, match="Target 1, m=2, is not valid"):
            ContextSpace([[1.0], [2.0]], m=[1, 2], valid="m < 2")

    def test_toml(self, tmp_path):
        file = tmp_path / "space.toml"
        file.write_text(
            "valid = \"ground == 'road' or mass < 2\"\n[dimensions.ground]\n"
            'values = ["road", "ice"]\n[dimensions.mass]\nvalues = [1, 2]\n'
        )
        space, _ = load_space(file)
        assert [tuple(t.values()) for t in space] == [("road", 1), ("road", 2), ("ice", 1)]


@st.composite
def constrained(draw):
    """A space of mixed dimensions with a constraint that something obeys."""
    dimensions, terms = {}, []
    for name in "abc"[: draw(st.integers(1, 3))]:
        kind = draw(st.sampled_from(["levels", "discrete", "categories", "interval"]))
        if kind == "categories":
            dimensions[name] = Categories(["x", "y", "z"][: draw(st.integers(1, 3))])
            terms.append(f"({name} != 'x')")
        elif kind == "interval":
            dimensions[name] = Interval(0, draw(st.integers(1, 4)))
            terms.append(name)
        else:
            values = draw(st.lists(st.integers(0, 9), min_size=1, max_size=4, unique=True))
            dimensions[name] = Levels(values, discrete=kind == "discrete")
            terms.append(name)
    rule = (
        f"{' + '.join(terms)} {draw(st.sampled_from(['<=', '>', '!=']))} {draw(st.integers(0, 9))}"
    )
    try:
        if any(isinstance(d, Interval) for d in dimensions.values()):
            return ContextSpace.sample(draw(st.integers(1, 9)), valid=rule, **dimensions)
        return ContextSpace(valid=rule, **dimensions)
    except ContextError:  # nothing, or too little, is valid
        return None


def check_nothing_else_is_built(space, width, seed):
    """Check every way in which contexts are made from a space."""
    rng = np.random.default_rng(seed)
    center = space.targets[rng.integers(len(space))]
    made = [
        space.targets,
        space.vector(space.middle())[None],
        space.whole().vector[None],
        space.draw(space.whole(), 8, rng),
        space.draw(Source.at(center, width), 8, rng),
        space.draw(Source.at(center, width), 8, rng, rng.random(len(space))),
        space.snap(rng.random(space.n_units))[None],
        np.array([space.vector(context) for context in _ends(space)]),
        *(
            np.array([space.vector(context) for context in pair])
            for d in range(space.n_dimensions)
            if (pair := _differing(space, d))
        ),
    ]
    for vectors in made:
        assert space.allows(vectors).all()
        for column, dimension in zip(vectors.T, space.dimensions.values(), strict=True):
            assert not dimension.discrete or np.isin(column, dimension.knots).all()


@given(constrained(), st.floats(0.01, 1), st.integers(0, 99))
def test_nothing_outside_is_built(space, width, seed):
    if space is not None:
        check_nothing_else_is_built(space, width, seed)


@pytest.mark.slow
@settings(max_examples=10_000, deadline=None)
@given(constrained(), st.floats(0.01, 1), st.integers(0, 99))
def test_nothing_outside_is_built_in_many_spaces(space, width, seed):
    if space is not None:
        check_nothing_else_is_built(space, width, seed)


@pytest.mark.parametrize("name", ["random", "m-mbtl"])
def test_selectors_of_the_box_stay_valid(name):
    space = ContextSpace.sample(
        20, k=["x", "y"], m=Interval(0, 1), g=Interval(0, 1), valid="m + g < 1 or k == 'x'"
    )
    selector = make_selector(name, space, seed=1, sources="box")
    for _ in range(8):
        trial = selector.ask()
        assert trial.context in space
        selector.tell(trial, np.arange(20.0))
