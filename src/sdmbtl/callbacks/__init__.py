"""Callbacks: displays of a run, trackers, your own."""

from sdmbtl.callbacks.displays import LineDisplay, make_displays
from sdmbtl.callbacks.event import Callback, Event, Stage, one_callback
from sdmbtl.callbacks.progress import RunProgress
from sdmbtl.callbacks.trackers import TensorBoardWriter, make_trackers

__all__ = [
    "Callback",
    "Event",
    "LineDisplay",
    "RunProgress",
    "Stage",
    "TensorBoardWriter",
    "make_displays",
    "make_trackers",
    "one_callback",
]
