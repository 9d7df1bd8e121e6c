"""Make the weather file of Champion, Nebraska, that ships with the package.

The source is `champion_climate.txt` of the package aquacrop 3.1 (Apache License 2.0): daily
temperatures, rain and reference evapotranspiration from 1982 to 2018. It has no radiation, which is
derived here from the range of temperatures after Hargreaves and Samani (FAO 56, equation 50, with
0.16 for places far from the sea).

    python domains/crops/make_weather.py      # needs aquacrop, which is not imported
"""

from __future__ import annotations

import gzip
from datetime import date
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from sdmbtl_crops import weather

LATITUDE = 40.4
OUT = Path(weather.__file__).parent / "data" / "champion.csv.gz"


def main() -> None:
    """Write the file."""
    found = find_spec("aquacrop")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("This needs aquacrop: pip install --no-deps aquacrop==3.1")
    path = Path(found.submodule_search_locations[0]) / "data" / "champion_climate.txt"
    lines = ["year,day," + ",".join(weather.COLUMNS)]
    for day, month, year, tmin, tmax, rain, et0 in np.loadtxt(path, skiprows=1):
        number = date(int(year), int(month), int(day)).timetuple().tm_yday
        clear = extraterrestrial_radiation(LATITUDE, number)
        radiation = min(0.16 * max(tmax - tmin, 0.0) ** 0.5, 0.75) * clear
        values = f"{radiation:.1f},{tmin:.1f},{tmax:.1f},{rain:.1f},{et0:.2f}"
        lines.append(f"{year:.0f},{number},{values}")
    OUT.parent.mkdir(exist_ok=True)
    # The same bytes each time: without the time at which they were written.
    OUT.write_bytes(gzip.compress("\n".join(lines).encode(), mtime=0))
    print(f"{OUT.name}: {len(lines) - 1} days, {OUT.stat().st_size / 1000:.0f} kB")


def extraterrestrial_radiation(latitude: float, day: int) -> float:
    """Return the radiation at the top of the atmosphere in MJ/m2 a day (FAO 56, equation 21).

    Args:
        latitude: In degrees.
        day: Day of the year.
    """
    angle = 2 * np.pi * day / 365
    distance = 1 + 0.033 * np.cos(angle)
    declination = 0.409 * np.sin(angle - 1.39)
    phi = np.radians(latitude)
    sunset = np.arccos(np.clip(-np.tan(phi) * np.tan(declination), -1, 1))
    height = sunset * np.sin(phi) * np.sin(declination)
    height += np.cos(phi) * np.cos(declination) * np.sin(sunset)
    return float(24 * 60 / np.pi * 0.0820 * distance * height)


if __name__ == "__main__":
    main()
