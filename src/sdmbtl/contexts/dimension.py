"""One named quantity that varies between contexts, and its comparable units.

Every dimension maps its own units to a *unit coordinate*: 0 at the lower end of the
targets, 1 at the upper end. All distances, slopes and kernels of the package live in unit
coordinates, so a mass in grams and a friction between 0.1 and 0.2 weigh the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdmbtl.checks import MAX_COUNT, check_bool, check_float, check_int, known_name, short_text
from sdmbtl.errors import ContextError

Scale = Literal["steps", "linear", "log"]

#: Digits kept of the values of a range between its ends: 0.6 rather than 0.6000000000000001.
DIGITS = 12


class Dimension(ABC):
    """A range of values with a monotone map to the unit interval.

    Attributes:
        scale: Map from values to unit coordinates: "steps", "linear" or "log".
        unit: Unit of measurement, such as "kg"; shown next to the values.
        low: Smallest value of the box X.
        high: Largest value of the box X.
        knots: (n,) ascending values, n >= 2 unless the dimension is constant.
        knot_units: (n,) their unit coordinates.
        discrete: True if values between the knots do not exist.
        columns: Number of unit coordinates: 1, or one for each category.
        steps: Number of grid steps between the ends; the unit in which the paper states slopes.
    """

    discrete = False
    columns = 1
    scales: tuple[Scale, ...] = ("linear", "log")
    steps: int

    def __init__(self, knots: NDArray[np.float64], scale: Scale, unit: str | None) -> None:
        if scale not in self.scales:
            raise ContextError(
                f"The 'scale' of this dimension must be one of {', '.join(map(repr, self.scales))}."
                f" Got {scale!r} instead."
            )
        if unit is not None:
            _check_text("The 'unit' of a dimension", unit)
        if scale == "log":
            _check_positive(knots)
        self.scale, self.unit, self.knots = scale, unit, knots
        self.low, self.high = float(knots[0]), float(knots[-1])
        #: The knots on the axis on which the map to units is piecewise linear.
        self._axis = axis = np.log(knots) if scale == "log" else knots
        self.knot_units: NDArray[np.float64] = (
            np.linspace(0.0, 1.0 if len(axis) > 1 else 0.0, len(axis))
            if scale == "steps" or len(axis) == 1
            else (axis - axis[0]) / (axis[-1] - axis[0])
        )

    @abstractmethod
    def at_shares(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values at these shares, 0 <= share < 1, of the range; of levels, one of them."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Describe the dimension as JSON data; `dimension_from_dict` reads it back."""

    def read(self, value: Any) -> float:
        """Turn a value of a context into a number; values that do not exist are refused."""
        return check_float("value", value, error=ContextError)

    def show(self, value: float) -> Any:
        """Turn the number of a value back into the value."""
        return value

    def encode(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Map (...) values to (..., columns) unit coordinates."""
        return self.to_unit(values)[..., None]

    def decode(self, units: NDArray[np.float64]) -> NDArray[np.float64]:
        """Map (..., columns) unit coordinates to (...) values that exist."""
        return self.from_unit(units[..., 0])

    def to_unit(self, values: ArrayLike) -> NDArray[np.float64]:
        """Map values to unit coordinates, linearly beyond the ends; same shape."""
        array = np.asarray(values, dtype=np.float64)
        if self.scale == "log":
            _check_positive(array)
            array = np.log(array)
        return _interpolate(array, self._axis, self.knot_units)

    def from_unit(self, units: ArrayLike) -> NDArray[np.float64]:
        """Map unit coordinates back to values; same shape."""
        units = np.asarray(units, dtype=np.float64)
        if self.low == self.high:
            return np.full_like(units, self.low)
        if self.discrete:
            middles = (self.knot_units[1:] + self.knot_units[:-1]) / 2
            return self.knots[np.searchsorted(middles, units)]
        values = _interpolate(units, self.knot_units, self._axis)
        if self.scale != "log":
            return values
        # exp(log(v)) misses v by a rounding error, which could put an end outside the box.
        knot = np.minimum(np.searchsorted(self.knot_units, units), len(self.knots) - 1)
        return np.where(self.knot_units[knot] == units, self.knots[knot], np.exp(values))


class Levels(Dimension):
    """A dimension given by its values, for example `[0.2, 0.5, 1.0, 2.0]`.

    The default scale, "steps", puts equal distance between neighbouring values, as the paper
    does with its grids; so a geometric list is treated as geometric.

    Args:
        values: The distinct values, in the order in which targets shall be listed.
        scale: "steps", "linear" or "log".
        discrete: True if values in between do not exist, as for a number of lanes: nothing is then
            trained on them. If left out, only true and false are discrete.
        unit: Unit of measurement, such as "kg".
    """

    scales = ("steps", "linear", "log")

    def __init__(
        self,
        values: Iterable[float],
        scale: Scale = "steps",
        *,
        discrete: bool | None = None,
        unit: str | None = None,
    ) -> None:
        listed = list(values)
        self.values = _numbers(listed)
        truths = any(isinstance(value, bool | np.bool_) for value in listed)
        if discrete is None:
            discrete = truths
        self.discrete = check_bool("discrete", discrete, error=ContextError)
        if truths and not discrete:
            raise ContextError("There is nothing between true and false. Leave 'discrete' out.")
        knots, counts = np.unique(self.values, return_counts=True)
        if counts.max() > 1:
            raise ContextError(
                f"Values of a dimension must be distinct. Got {knots[counts > 1][0]:g} more than "
                "once. Remove the repeats."
            )
        super().__init__(knots, scale, unit)
        self.steps = max(len(knots) - 1, 1)

    def read(self, value: Any) -> float:
        """Turn a value of a context into a number; nothing lies between discrete values."""
        if not self.discrete:
            return super().read(value)
        number = super().read(int(value) if isinstance(value, bool) else value)
        apart = np.abs(self.knots - number)
        if self.low < number < self.high and apart.min() > 1e-9 * (self.high - self.low):
            raise ContextError(
                f"There is nothing between the values {_listed(self.knots)}. Got {value!r} instead."
            )
        return number

    def at_shares(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return one of the values for each share."""
        return self.knots[(shares * len(self.knots)).astype(np.intp)]

    def to_dict(self) -> dict[str, Any]:
        """Describe the dimension as JSON data."""
        data: dict[str, Any] = {"values": self.values.tolist(), "scale": self.scale}
        data |= {"discrete": True} if self.discrete else {}
        return data if self.unit is None else {**data, "unit": self.unit}

    def __repr__(self) -> str:
        suffix = "" if self.scale == "steps" else f", scale={self.scale!r}"
        suffix += ", discrete=True" if self.discrete else ""
        suffix += "" if self.unit is None else f", unit={self.unit!r}"
        return f"Levels([{_listed(self.values)}] ({len(self.values)}){suffix})"


class Categories(Levels):
    """A dimension of texts without an order, for example `["road", "ice", "mud"]`.

    Arrays hold the number of the category. Each category has one unit coordinate: 0.5 in
    that category, 0 in the others. So any two categories are 1 apart, as the ends of a range are,
    and one step leads from any to any other.

    Args:
        categories: The distinct texts, in the order in which targets shall be listed.
    """

    def __init__(self, categories: Iterable[str]) -> None:
        self.categories = tuple(categories)
        for category in self.categories:
            _check_text("A category", category)
            if self.categories.count(category) > 1:
                raise ContextError(f"Categories must be distinct. Got {category!r} more than once.")
        super().__init__(range(len(self.categories)), discrete=True)
        self.columns, self.steps = len(self.categories), 1

    def read(self, value: Any) -> float:
        """Return the number of a category; a number of one stays as it is."""
        if not isinstance(value, str) and value in range(self.columns) and value is not True:
            return float(value)
        known_name("category", value, self.categories, error=ContextError)
        return float(self.categories.index(value))

    def show(self, value: float) -> str:
        """Return the category with this number."""
        return self.categories[round(value)]

    def encode(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Map (...) numbers to (..., columns) unit coordinates."""
        return np.asarray(0.5 * (np.asarray(values)[..., None] == self.knots))

    def decode(self, units: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the number of the largest of the (..., columns) unit coordinates."""
        return np.asarray(units.argmax(axis=-1), dtype=np.float64)

    def to_dict(self) -> dict[str, Any]:
        """Describe the dimension as JSON data."""
        return {"values": list(self.categories)}

    def __repr__(self) -> str:
        return f"Categories({list(self.categories)!r})"


class Interval(Dimension):
    """A dimension given by its bounds; its targets come as a list or a sample.

    Args:
        low: Lower bound.
        high: Upper bound.
        scale: "linear" or "log".
        unit: Unit of measurement, such as "kg".
    """

    #: An interval has no grid; the paper's slope of 0.01 per step is read as 10 steps.
    steps = 10

    def __init__(
        self, low: float, high: float, scale: Scale = "linear", *, unit: str | None = None
    ) -> None:
        bounds = _numbers([low, high])
        if bounds[0] > bounds[1]:
            raise ContextError(
                f"An interval needs low <= high. Got low={low!r}, high={high!r} instead. "
                "Swap the two."
            )
        super().__init__(np.unique(bounds), scale, unit)

    def at_shares(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the value at each share of the interval."""
        return self.from_unit(shares)

    def to_dict(self) -> dict[str, Any]:
        """Describe the dimension as JSON data."""
        data: dict[str, Any] = {"low": self.low, "high": self.high, "scale": self.scale}
        return data if self.unit is None else {**data, "unit": self.unit}

    def __repr__(self) -> str:
        suffix = "" if self.scale == "linear" else f", scale={self.scale!r}"
        suffix += "" if self.unit is None else f", unit={self.unit!r}"
        return f"Interval({self.low:g}, {self.high:g}{suffix})"


@dataclass(frozen=True)
class Range:
    """The values from `low` to `high` in equal steps, or in equal ratios.

    Args:
        low: The lowest value.
        high: The highest value.
        levels: Number of values, the ends included. A single one lies in the middle.
        scale: "linear" for equal steps, "log" for equal ratios.
        unit: Unit of measurement, such as "kg".

    Example:
        >>> Range(0.1, 10, levels=3, scale="log").values
        (0.1, 1.0, 10.0)
    """

    low: float
    high: float
    levels: int
    scale: Literal["linear", "log"] = "linear"
    unit: str | None = None

    def __post_init__(self) -> None:
        check_float("low", self.low, error=ContextError)
        check_float("high", self.high, error=ContextError)
        check_int("levels", self.levels, low=1, high=MAX_COUNT, error=ContextError)
        known_name("scale", self.scale, Dimension.scales, error=ContextError)
        if self.low > self.high or (self.low == self.high and self.levels > 1):
            raise ContextError(
                f"A range of {self.levels} levels needs low < high. "
                f"Got low={self.low:g}, high={self.high:g} instead."
            )
        if self.scale == "log":
            _check_positive(np.array([self.low]))

    @property
    def values(self) -> tuple[float, ...]:
        """The values, ascending; both ends exactly as given."""
        low, high = float(self.low), float(self.high)
        if low == high:
            return (low,)
        spaced = np.geomspace if self.scale == "log" else np.linspace
        with np.errstate(all="ignore"):  # values that are not finite are refused with a sentence
            points = spaced(low, high, 3 if self.levels == 1 else self.levels)
        inner = [float(f"{v:.{DIGITS}g}") for v in points[1:-1]]
        return tuple(inner) if self.levels == 1 else (low, *inner, high)


def as_dimension(name: str, given: object) -> Dimension:
    """Turn what a user wrote for one dimension into a `Dimension`."""
    _check_text(f"The name of a dimension, {name!r},", name)
    if isinstance(given, Dimension):
        return given
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise ContextError(
            f"Dimension {name!r} must be a list of numbers or of categories, Levels(...) or "
            f"Interval(low, high). Got {given!r} instead."
        )
    try:
        return dimension_from_dict({"values": list(given)})
    except ContextError as error:
        raise ContextError(f"Dimension {name!r}: {error}") from None


def dimension_from_dict(data: Mapping[str, Any]) -> Dimension:
    """Make a dimension of 'values', of 'low' and 'high', or of these and 'levels'.

    Reads what `Dimension.to_dict` returns. Values that are texts are categories.
    """
    scale, discrete, unit = (data.get(key) for key in ("scale", "discrete", "unit"))
    if "values" not in data and "levels" not in data:
        return Interval(data["low"], data["high"], scale or "linear", unit=unit)
    if "levels" in data:
        values: Any = Range(data["low"], data["high"], data["levels"], scale or "linear").values
        return Levels(values, scale or "linear", discrete=discrete, unit=unit)
    values = data["values"]
    if not values or not all(isinstance(value, str) for value in values):
        return Levels(values, scale or "steps", discrete=discrete, unit=unit)
    if scale is not None or unit is not None:
        raise ContextError("Categories have no 'scale' and no 'unit'. Leave them out.")
    return Categories(values)


def _numbers(values: Iterable[Any]) -> NDArray[np.float64]:
    """(n,) finite numbers; true and false are 1 and 0."""
    numbers = [
        float(v) if isinstance(v, bool) else check_float("value", v, error=ContextError)
        for v in values
    ]
    if not numbers:
        raise ContextError("A dimension needs at least one value. Got an empty list instead.")
    return np.array(numbers)


def _listed(values: NDArray[np.float64]) -> str:
    """Show the values, or the first and the last of many."""
    some = values if len(values) <= 4 else values[[0, -1]]
    return (", " if len(values) <= 4 else ", …, ").join(f"{v:g}" for v in some)


def _check_text(what: str, text: object) -> None:
    if not isinstance(text, str) or not text.strip() or not text.isprintable():
        raise ContextError(
            f"{what} must be a visible text without line breaks or control characters. "
            f"Got {short_text(text)} instead."
        )


def _check_positive(values: NDArray[np.float64]) -> None:
    if np.any(values <= 0):
        raise ContextError(
            f"A logarithmic dimension takes values above 0. Got {values[values <= 0].flat[0]:g} "
            "instead. Use scale='linear' if zero or negative values are meant."
        )


def _interpolate(
    x: NDArray[np.float64], xs: NDArray[np.float64], ys: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Piecewise linear map through (xs, ys), continued linearly beyond both ends."""
    if len(xs) == 1:
        return np.full_like(x, ys[0])
    segment = np.clip(np.searchsorted(xs, x, side="right") - 1, 0, len(xs) - 2)
    left, right, low, high = xs[segment], xs[segment + 1], ys[segment], ys[segment + 1]
    t = (x - left) / (right - left)
    # Written so that the knots themselves are hit exactly from both sides.
    return np.where(t == 1.0, high, low + t * (high - low))
