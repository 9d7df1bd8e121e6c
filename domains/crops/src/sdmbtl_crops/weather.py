"""Daily weather of whole years: the record that ships, or the user's own file."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import did_you_mean, short_text
from sdmbtl.errors import FamilyError
from sdmbtl.foreign import read_bytes

#: Bytes that are read of a weather file; a century takes about 2 MB.
MAX_WEATHER = 8 * 2**20
#: Days of a year here: the last one of a leap year is left out.
DAYS = 365

#: Columns of a day, with the values that are possible on Earth: radiation (MJ/m2), lowest and
#: highest temperature (degrees Celsius), rain (mm) and the evapotranspiration of short grass (mm).
POSSIBLE = {
    "radiation": (0.0, 50.0),
    "tmin": (-70.0, 50.0),
    "tmax": (-70.0, 60.0),
    "rain": (0.0, 1000.0),
    "et0": (0.0, 25.0),
}
COLUMNS = tuple(POSSIBLE)
#: Columns of a file that date a row, with their ranges.
DATES = {"year": (1, 9999), "day": (1, DAYS + 1)}
#: Files of this package: Champion, Nebraska, 1982 to 2018; see data/README.md.
SITES = {"champion": Path(__file__).parent / "data" / "champion.csv.gz"}

#: The years of a record that episodes are drawn from.
Years = Literal["train", "test", "all"]


@dataclass(frozen=True, eq=False)
class Weather:
    """Weather of a place, in whole years.

    Attributes:
        years: The calendar years, in order.
        days: (years, 365, 5) of `COLUMNS`.
    """

    years: tuple[int, ...]
    days: NDArray[np.float64]

    def split(self) -> tuple[list[int], list[int]]:
        """Return the positions of the years for training, and of those kept for tests.

        Every third year is kept: both parts have early and late ones, so that a trend of the
        climate is no difference between them.
        """
        kept = [i for i in range(len(self.years)) if i % 3 == 2]
        return [i for i in range(len(self.years)) if i % 3 != 2], kept


def years_of(site: str, years: Years) -> tuple[int, ...]:
    """Return the positions of the years of a site that episodes are drawn from.

    Raises:
        FamilyError: If `years` is none of the three.
    """
    if years not in get_args(Years):
        raise FamilyError(
            f"The 'years' must be one of {', '.join(get_args(Years))}. Got {years!r} instead."
        )
    weather = load_weather(site)
    if years == "all":
        return tuple(range(len(weather.years)))
    train, test = weather.split()
    return tuple(train if years == "train" else test)


@lru_cache(maxsize=8)
def load_weather(site: str) -> Weather:
    """Load the weather of a site by name, or of a CSV file.

    Args:
        site: One of `SITES`, or the path of a file that ends in ".csv": a header with year, day
            (1 to 365), radiation, tmin, tmax, rain and et0, and a row for each day. A year may
            have a 366th day; it is left out.

    Raises:
        FamilyError: If there is no such site, or the file is not usable.
    """
    if site not in SITES and not site.endswith(".csv"):
        raise FamilyError(
            f"The 'site' must be one of {', '.join(SITES)}, or the path of a '.csv' file. "
            f"Got {site!r} instead.{did_you_mean(site, SITES)}"
        )
    table = _read_table(SITES.get(site, Path(site)))
    years, days = [], []
    for year in np.unique(table[:, 0]):
        rows = table[(table[:, 0] == year) & (table[:, 1] <= DAYS)]
        years.append(int(year))
        days.append(_whole_year(site, int(year), rows))
    if len(years) < 3:
        raise FamilyError(
            f"The weather of {site!r} must have at least 3 whole years, so that some can be kept "
            f"for tests. Got {len(years)}."
        )
    return Weather(tuple(years), np.stack(days))


def _read_table(path: Path) -> NDArray[np.float64]:
    """Read (n, 7) year, day and `COLUMNS` of a file."""
    if not path.exists():
        raise FamilyError(f"There is no weather file {str(path)!r}. Check its path.")
    if not path.is_file():  # reading a pipe could wait for ever
        raise FamilyError(f"The weather file {str(path)!r} must be a regular file.")
    try:
        content = read_bytes(path, MAX_WEATHER)
        text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise FamilyError(
            f"The weather file {str(path)!r} must be a readable text in UTF-8. {error}."
        ) from None
    reader = csv.DictReader(text.splitlines())
    try:
        missing = [name for name in (*DATES, *COLUMNS) if name not in (reader.fieldnames or ())]
        if missing:
            raise FamilyError(
                f"The weather file {str(path)!r} must have the columns "
                f"{', '.join((*DATES, *COLUMNS))}. It lacks {', '.join(missing)}."
            )
        rows = [_read_row(path, line, row) for line, row in enumerate(reader, 2)]
    except csv.Error as error:
        raise FamilyError(
            f"The weather file {str(path)!r} must have commas between numbers. After line "
            f"{reader.line_num} it cannot be read: {error}."
        ) from None
    if not rows:
        raise FamilyError(f"The weather file {str(path)!r} has no days; give at least 3 years.")
    return np.array(rows)


def _read_row(path: Path, line: int, row: Mapping[str, str | None]) -> list[float]:
    values = []
    for name in (*DATES, *COLUMNS):
        given, wanted = row[name] or "", "a number"
        value: float | None = None
        with suppress(ValueError):
            value = float(given)
        if name in DATES:
            low, high = DATES[name]
            wanted = f"a whole number from {low} to {high}"
            if value is not None and not (low <= value <= high and value.is_integer()):
                value = None
        if value is None:
            raise FamilyError(
                f"Line {line} of the weather file {str(path)!r}: {name!r} must be {wanted}. "
                f"Got {short_text(given)} instead."
            )
        values.append(value)
    return values


def _whole_year(place: str, year: int, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (365, 5) the days of a year in order, all of them there and possible."""
    if len(np.unique(rows[:, 1])) < len(rows):
        raise FamilyError(f"The weather of {place!r} has a day of {year} twice. Remove one.")
    days = np.full((DAYS, len(COLUMNS)), np.nan)
    days[rows[:, 1].astype(int) - 1] = rows[:, 2:]
    gaps = np.flatnonzero(~np.isfinite(days).all(axis=1))
    if len(gaps):
        raise FamilyError(
            f"The weather of {place!r} must have every day. {year} lacks {len(gaps)}, the first "
            f"of them day {gaps[0] + 1}. Fill the gaps, or leave the year out."
        )
    for column, (name, (low, high)) in enumerate(POSSIBLE.items()):
        wrong = np.flatnonzero((days[:, column] < low) | (days[:, column] > high))
        if len(wrong):
            raise FamilyError(
                f"{name!r} of the weather of {place!r} must be from {low:g} to {high:g}. Day "
                f"{wrong[0] + 1} of {year} has {days[wrong[0], column]:g}. Check its unit."
            )
    cold = np.flatnonzero(days[:, 1] > days[:, 2])
    if len(cold):
        raise FamilyError(
            f"'tmin' of the weather of {place!r} must not be above 'tmax'. "
            f"On day {cold[0] + 1} of {year} it is."
        )
    return days
