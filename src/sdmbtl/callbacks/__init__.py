"""Callbacks: displays of a run, trackers, your own."""

from sdmbtl.callbacks.callback_list import CallbackList
from sdmbtl.callbacks.displays import LineDisplay, make_displays
from sdmbtl.callbacks.event import Callback, Event, Pace, Stage
from sdmbtl.callbacks.progress import RunProgress
from sdmbtl.callbacks.trackers import TensorBoardWriter, make_trackers

__all__ = [
    "Callback",
    "CallbackList",
    "Event",
    "LineDisplay",
    "Pace",
    "RunProgress",
    "Stage",
    "TensorBoardWriter",
    "make_displays",
    "make_trackers",
]
