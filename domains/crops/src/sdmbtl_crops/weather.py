"""Daily weather of whole years: from packages that ship it, or from a file of one's own."""

from __future__ import annotations

import csv
import gzip
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import did_you_mean, short_text
from sdmbtl.errors import FamilyError, MissingPackageError
from sdmbtl.foreign import read_bytes
from sdmbtl_crops.radiation import penman_monteith

#: Bytes that are read of a weather file; a century takes about 2 MB.
MAX_WEATHER = 8 * 2**20
#: Days of a year here: the last one of a leap year is left out.
DAYS = 365

#: What a day has, in this order: radiation (MJ/m2), lowest and highest temperature (degrees
#: Celsius), rain (mm) and the evapotranspiration of short grass (mm).
COLUMNS = ("radiation", "tmin", "tmax", "rain", "et0")

#: Which years of a record episodes are drawn from.
Years = Literal["train", "test", "all"]

#: What the columns of a file are that say which day a row is of, and what they may be.
DATES = {"year": (1, 9999), "day": (1, DAYS + 1)}

#: What is possible of each, wherever on Earth.
POSSIBLE = {
    "radiation": (0.0, 50.0),
    "tmin": (-70.0, 50.0),
    "tmax": (-70.0, 60.0),
    "rain": (0.0, 1000.0),
    "et0": (0.0, 25.0),
}


@dataclass(frozen=True, eq=False)
class Weather:
    """The weather of a place, in whole years.

    Attributes:
        place: Where it is of.
        years: The calendar years, in order.
        days: (years, 365, 5) of `COLUMNS`.
    """

    place: str
    years: tuple[int, ...]
    days: NDArray[np.float64]

    def fingerprint(self) -> str:
        """A short hash of the years and their days."""
        digest = hashlib.sha256(repr(self.years).encode())
        digest.update(self.days.astype("<f8").tobytes())
        return digest.hexdigest()[:16]

    def split(self) -> tuple[list[int], list[int]]:
        """Positions of the years for training, and of those that are kept for tests.

        Every third year is kept: both parts have early and late ones, so that a trend of the
        climate is no difference between them.
        """
        kept = [i for i in range(len(self.years)) if i % 3 == 2]
        return [i for i in range(len(self.years)) if i % 3 != 2], kept


def years_of(site: str, years: Years) -> tuple[int, ...]:
    """Positions of the years of a site that episodes are drawn from.

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
    """The weather of a site by name, or of a CSV file.

    Args:
        site: One of `SITES`, or the path of a file that ends in ".csv": a header with year, day
            (1 to 365), radiation, tmin, tmax, rain and et0, and a row for each day. A year that
            has a 366th day may have it; it is left out.

    Raises:
        FamilyError: If there is no such site, or the file is not usable.
        MissingPackageError: If the package that ships the weather is not installed.
    """
    if is_own_file(site):
        return _read_csv(Path(site))
    if site not in SITES:
        raise FamilyError(
            f"The 'site' must be one of {', '.join(SITES)}, or the path of a '.csv' file. "
            f"Got {site!r} instead.{did_you_mean(site, SITES)}"
        )
    return SITES[site]()


def is_own_file(site: str) -> bool:
    """Whether a site is a file of one's own, and not the name of a place."""
    return site.endswith(".csv")


def _champion() -> Weather:
    """Champion, Nebraska, 1982 to 2018: a file of this package; see the README beside it."""
    path = Path(__file__).parent / "data" / "champion.csv.gz"
    return _read_csv(path, place="Champion, Nebraska")


def _wageningen() -> Weather:
    """Wageningen, the Netherlands, 1976 to 1999, of the package pcse.

    Years with missing values, or with a day twice, are left out; the evapotranspiration is FAO
    56's Penman-Monteith.
    """
    latitude, altitude = 51.97, 7.0
    folder = _folder("pcse") / "tests" / "test_data"
    rows = np.concatenate([_read_cabo(path) for path in sorted(folder.glob("NL1.9*"))])
    year, day, radiation, tmin, tmax, vapour, wind, rain = rows.T
    et0 = penman_monteith(radiation, tmin, tmax, vapour, wind, latitude, altitude, day)
    table = np.column_stack([year, day, radiation, tmin, tmax, rain, et0])
    return _complete("Wageningen, the Netherlands", table, whole_only=True)


#: Places whose weather this package or one of the extra "crop" ships.
SITES = {"champion": _champion, "wageningen": _wageningen}


def _folder(package: str) -> Path:
    """Where a package is; it is not imported, which would take a second or leave files."""
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise MissingPackageError(
            f"The weather is in the package {package}, which is not installed. Install it with: "
            "pip install 'sdmbtl[crop]'"
        )
    return Path(found.submodule_search_locations[0])


def _read_cabo(path: Path) -> NDArray[np.float64]:
    """(n, 8) year, day, radiation, temperatures, vapour pressure, wind and rain of a CABO file."""
    lines = [line for line in path.read_text(encoding="latin-1").splitlines() if line[:1] != "*"]
    rows = np.array([line.split()[1:] for line in lines[1:] if line.strip()], dtype=np.float64)
    rows[rows <= -99.0] = np.nan  # how these files write a missing value
    rows[:, 2] /= 1000.0  # kJ to MJ
    return rows


def _read_csv(path: Path, place: str | None = None) -> Weather:
    reader = csv.DictReader(_text_of(path).splitlines())
    expected = (*DATES, *COLUMNS)
    try:
        missing = [name for name in expected if name not in (reader.fieldnames or ())]
        if missing:
            raise FamilyError(
                f"The weather file {str(path)!r} must have the columns {', '.join(expected)}. "
                f"It lacks {', '.join(missing)}."
            )
        rows = [_numbers(path, number, row, expected) for number, row in enumerate(reader, 2)]
    except csv.Error as error:
        raise FamilyError(
            f"The weather file {str(path)!r} must have commas between numbers. After line "
            f"{reader.line_num} it cannot be read: {error}."
        ) from None
    if not rows:
        raise FamilyError(f"The weather file {str(path)!r} has no days; give at least 3 years.")
    return _complete(place or str(path), np.array(rows), whole_only=False)


def _text_of(path: Path) -> str:
    """The text of a weather file, which is not too large.

    Raises:
        FamilyError: If there is no such file, or it has no text.
        LimitError: If it is too large.
    """
    if not path.exists():
        raise FamilyError(f"There is no weather file {str(path)!r}. Check its path.")
    if not path.is_file():  # reading a pipe could wait for ever
        raise FamilyError(f"The weather file {str(path)!r} must be a file of text. It is not one.")
    try:
        content = read_bytes(path, MAX_WEATHER)
        return (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise FamilyError(
            f"The weather file {str(path)!r} must be a text in UTF-8 that can be read. {error}."
        ) from None


def _numbers(
    path: Path, line: int, row: Mapping[str, str | None], names: Iterable[str]
) -> list[float]:
    values = []
    for name in names:
        given = row[name] or ""
        try:
            value = float(given)
        except ValueError:
            raise FamilyError(
                f"Line {line} of the weather file {str(path)!r}: {name!r} must be a number. "
                f"Got {short_text(given)} instead."
            ) from None
        low, high = DATES.get(name, (-np.inf, np.inf))
        if name in DATES and not (low <= value <= high and value.is_integer()):
            raise FamilyError(
                f"Line {line} of the weather file {str(path)!r}: {name!r} must be a whole number "
                f"from {low} to {high}. Got {short_text(given)} instead."
            )
        values.append(value)
    return values


def _complete(place: str, table: NDArray[np.float64], *, whole_only: bool) -> Weather:
    """Whole years of a table with year, day and `COLUMNS`.

    Args:
        place: For messages.
        table: (n, 7).
        whole_only: Whether years with gaps or with a day twice are left out; otherwise they are
            an error.
    """
    years, days = [], []
    for year in np.unique(table[:, 0]):
        rows = table[table[:, 0] == year]
        rows = rows[rows[:, 1] <= DAYS]
        order = np.full((DAYS, len(COLUMNS)), np.nan)
        if not whole_only and len(np.unique(rows[:, 1])) < len(rows):
            raise FamilyError(
                f"The weather of {place!r} has a day of {int(year)} twice. Remove one of them."
            )
        order[rows[:, 1].astype(int) - 1] = rows[:, 2:]
        gaps = np.flatnonzero(~np.isfinite(order).all(axis=1))
        if whole_only and (len(gaps) or len(rows) > DAYS):
            continue
        if len(gaps):
            raise FamilyError(
                f"The weather of {place!r} must have every day. {int(year)} lacks {len(gaps)}, the "
                f"first of them day {gaps[0] + 1}. Fill the gaps, or leave the year out."
            )
        _check_values(place, int(year), order)
        years.append(int(year))
        days.append(order)
    if len(years) < 3:
        raise FamilyError(
            f"The weather of {place!r} must have at least 3 whole years, so that some can be kept "
            f"for tests. Got {len(years)}."
        )
    return Weather(place, tuple(years), np.stack(days))


def _check_values(place: str, year: int, days: NDArray[np.float64]) -> None:
    for column, name in enumerate(COLUMNS):
        low, high = POSSIBLE[name]
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
