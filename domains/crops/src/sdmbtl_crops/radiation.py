"""Sunlight above the air, and the evapotranspiration that it drives (FAO 56)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def extraterrestrial_radiation(latitude: float, day: ArrayLike) -> Floats:
    """Radiation at the top of the atmosphere in MJ/m2 a day (FAO 56, equation 21).

    Args:
        latitude: In degrees.
        day: (n,) days of the year.
    """
    angle = 2 * np.pi * np.asarray(day, dtype=np.float64) / 365
    distance = 1 + 0.033 * np.cos(angle)
    declination = 0.409 * np.sin(angle - 1.39)
    phi = np.radians(latitude)
    sunset = np.arccos(np.clip(-np.tan(phi) * np.tan(declination), -1, 1))
    height = sunset * np.sin(phi) * np.sin(declination)
    height += np.cos(phi) * np.cos(declination) * np.sin(sunset)
    return np.asarray(24 * 60 / np.pi * 0.0820 * distance * height, dtype=np.float64)


def saturation_pressure(temperature: Floats) -> Floats:
    """Vapour pressure of saturated air in kPa (FAO 56, equation 11)."""
    return np.asarray(0.6108 * np.exp(17.27 * temperature / (temperature + 237.3)))


def penman_monteith(
    radiation: Floats,
    tmin: Floats,
    tmax: Floats,
    vapour: Floats,
    wind: Floats,
    latitude: float,
    altitude: float,
    day: Floats,
) -> Floats:
    """Evapotranspiration of short grass in mm a day (FAO 56, equation 6).

    Args:
        radiation: (n,) in MJ/m2.
        tmin: (n,) lowest temperature in degrees Celsius.
        tmax: (n,) highest temperature.
        vapour: (n,) vapour pressure in kPa.
        wind: (n,) speed at 2 m in m/s.
        latitude: In degrees.
        altitude: In m.
        day: (n,) days of the year.
    """
    mean = (tmin + tmax) / 2
    clear = (0.75 + 2e-5 * altitude) * extraterrestrial_radiation(latitude, day)
    cloudiness = 1.35 * np.clip(radiation / clear, 0.3, 1.0) - 0.35
    fourth = ((tmin + 273.16) ** 4 + (tmax + 273.16) ** 4) / 2
    lost = 4.903e-9 * fourth * (0.34 - 0.14 * np.sqrt(vapour)) * cloudiness
    net = 0.77 * radiation - lost
    slope = 4098 * saturation_pressure(mean) / (mean + 237.3) ** 2
    gamma = 0.665e-3 * 101.3 * ((293 - 0.0065 * altitude) / 293) ** 5.26
    deficit = (saturation_pressure(tmin) + saturation_pressure(tmax)) / 2 - vapour
    numerator = 0.408 * slope * net + gamma * 900 / (mean + 273) * wind * np.maximum(deficit, 0)
    return np.asarray(np.maximum(numerator / (slope + gamma * (1 + 0.34 * wind)), 0.0))
