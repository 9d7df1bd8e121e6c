"""Weather: what ships, files of one's own, and what is wrong with them."""

from importlib.util import find_spec

import numpy as np
import pytest

from sdmbtl.errors import FamilyError, MissingPackageError
from sdmbtl_crops import weather
from sdmbtl_crops.radiation import extraterrestrial_radiation, penman_monteith
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


@pytest.mark.skipif(find_spec("pcse") is None, reason="pcse has the weather of Wageningen")
def test_wageningen_is_that_of_pcse():
    found = load_weather("wageningen")
    assert set(found.years) <= set(range(1976, 2000))
    assert 1978 not in found.years  # has two days twice
    assert len(found.years) == 17
    assert np.isfinite(found.days).all()
    first = found.days[found.years.index(1997), 0]
    np.testing.assert_allclose(first[:4], [3.88, -15.4, -8.4, 0.0])


def test_without_pcse_the_way_to_install_it_is_named(monkeypatch):
    monkeypatch.setattr(weather, "find_spec", lambda name: None)
    load_weather.cache_clear()
    with pytest.raises(MissingPackageError, match=r"pcse, which is not installed.*sdmbtl\[crop\]"):
        load_weather("wageningen")


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


def test_the_fingerprint_is_that_of_the_numbers(tmp_path):
    def fingerprint(rows):
        load_weather.cache_clear()
        return load_weather(written(tmp_path, rows)).fingerprint()

    first = fingerprint(rows_of())
    assert fingerprint([row.replace("1.5", "1.50") for row in reversed(rows_of())]) == first
    assert fingerprint(change(rows_of(), 5, "2001,6,15,5,20,1.6,3")) != first
    assert fingerprint(rows_of((2001, 2002, 2004))) != first


def change(rows, number, row):
    return [row if i == number else old for i, old in enumerate(rows)]


@pytest.mark.parametrize(
    ("rows", "header", "message"),
    [
        (rows_of(), "year,day,tmin", "must have the columns .* lacks radiation, tmax, rain, et0"),
        (rows_of()[:-1], HEADER, "2003 lacks 1, the first of them day 365"),
        (change(rows_of(), 5, "2001,6,15,5,20,,3"), HEADER, "Line 7 .* 'rain' must be a number"),
        (change(rows_of(), 5, "2001,6,15,5,x,1,3"), HEADER, "'tmax' must be a number. Got 'x'"),
        (change(rows_of(), 5, "2001,6,nan,5,20,1,3"), HEADER, "2001 lacks 1"),
        (change(rows_of(), 5, "2001,6,15000,5,20,1,3"), HEADER, "'radiation' .* from 0 to 50"),
        (change(rows_of(), 5, "2001,6,15,5,20,-1,3"), HEADER, "'rain' .* from 0 to 1000"),
        (change(rows_of(), 5, "2001,6,15,25,20,1,3"), HEADER, "'tmin' .* not be above 'tmax'"),
        (change(rows_of(), 5, "2001,5,15,5,20,1,3"), HEADER, "has a day of 2001 twice"),
        (change(rows_of(), 5, "2001,0,15,5,20,1,3"), HEADER, "whole number from 1 to 366"),
        (change(rows_of(), 5, "nan,6,15,5,20,1,3"), HEADER, "Line 7 .*'year' .* Got 'nan' instead"),
        (change(rows_of(), 5, "2001,inf,15,5,20,1,3"), HEADER, "'day' must be a whole number"),
        (change(rows_of(), 5, "1e300,6,15,5,20,1,3"), HEADER, "from 1 to 9999. Got '1e300'"),
        (change(rows_of(), 5, "2001,6,15,5,20,1e300,3"), HEADER, "'rain' .* from 0 to 1000"),
        (rows_of((2001, 2002)), HEADER, "at least 3 whole years.* Got 2"),
        ([], HEADER, "has no days"),
    ],
)
def test_what_is_wrong_with_a_file_is_named(tmp_path, rows, header, message):
    with pytest.raises(FamilyError, match=message):
        load_weather(written(tmp_path, rows, header))


def test_unknown_sites_and_files():
    with pytest.raises(FamilyError, match=r"'site' must be one of champion.*mean 'champion'"):
        load_weather("champoin")
    with pytest.raises(FamilyError, match="There is no weather file 'nowhere.csv'"):
        load_weather("nowhere.csv")


def test_the_sun_is_that_of_fao_56():
    # Examples 8 and 18 of FAO's paper 56: 20 degrees south on September 3; Uccle on July 6.
    assert float(extraterrestrial_radiation(-20, 246)) == pytest.approx(32.2, abs=0.1)
    given = (22.07, 12.3, 21.5, 1.409, 2.078, 50.8, 100.0, 187.0)
    assert float(penman_monteith(*map(np.float64, given))) == pytest.approx(3.9, abs=0.05)
