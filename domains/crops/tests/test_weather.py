"""Weather: what ships, files of one's own, and what is wrong with them."""

import numpy as np
import pytest

from sdmbtl.errors import FamilyError
from sdmbtl_crops.weather import COLUMNS, load_weather

HEADER = "year,day," + ",".join(COLUMNS)


def rows_of(years=(2001, 2002, 2003), days=365):
    return [f"{year},{day},15,5,20,1.5,3" for year in years for day in range(1, days + 1)]


def written(tmp_path, rows, header=HEADER):
    path = tmp_path / "weather.csv"
    path.write_text("\n".join([header, *rows]))
    return str(path)


def test_champion_ships():
    found = load_weather("champion")
    assert found.years == tuple(range(1982, 2019))
    assert found.days.shape == (37, 365, 5)
    summers = found.days[:, 120:270, 3].sum(axis=1)
    assert 350 < found.days[..., 3].sum(axis=1).mean() < 500
    assert found.years[int(summers.argmin())] == 2012  # the drought


def test_the_years_for_tests_are_not_for_training():
    train, test = load_weather("champion").split()
    assert sorted(train + test) == list(range(37))
    assert len(test) == 12
    assert min(test) < 5
    assert max(test) > 31


def test_a_file_of_ones_own(tmp_path):
    rows = rows_of(days=366)  # the last day of leap years is left out
    found = load_weather(written(tmp_path, rows))
    assert found.years == (2001, 2002, 2003)
    np.testing.assert_array_equal(found.days[1, 200], [15, 5, 20, 1.5, 3])


def change(rows, number, row):
    return [row if i == number else old for i, old in enumerate(rows)]


@pytest.mark.parametrize(
    ("rows", "word"),
    [
        (rows_of()[:-1], "2003 lacks 1"),
        (change(rows_of(), 5, "2001,6,15,5,20,,3"), "'rain'"),
        (change(rows_of(), 5, "2001,6,nan,5,20,1,3"), "2001 lacks 1"),
        (change(rows_of(), 5, "2001,6,15000,5,20,1,3"), "'radiation'"),
        (change(rows_of(), 5, "2001,6,15,25,20,1,3"), "above 'tmax'"),
        (change(rows_of(), 5, "2001,5,15,5,20,1,3"), "2001 twice"),
        (change(rows_of(), 5, "2001,0,15,5,20,1,3"), "Line 7 .* 'day'"),
        (change(rows_of(), 5, "1e300,6,15,5,20,1,3"), "1e300"),
        (rows_of((2001, 2002)), "at least 3"),
        ([], "no days"),
    ],
)
def test_what_is_wrong_with_a_file_is_named(tmp_path, rows, word):
    with pytest.raises(FamilyError, match=word):
        load_weather(written(tmp_path, rows))


def test_a_file_without_a_column_is_refused(tmp_path):
    with pytest.raises(FamilyError, match="lacks radiation"):
        load_weather(written(tmp_path, rows_of(), header="year,day,tmin"))


def test_unknown_sites_and_files():
    with pytest.raises(FamilyError, match=r"'site' must be one of champion.*mean 'champion'"):
        load_weather("champoin")
    with pytest.raises(FamilyError, match="There is no weather file 'nowhere.csv'"):
        load_weather("nowhere.csv")
