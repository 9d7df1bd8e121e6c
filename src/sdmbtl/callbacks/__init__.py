"""Callbacks: who is told what happens in a study. Displays, TensorBoard, your own."""

from sdmbtl.callbacks.callback_list import CallbackList
from sdmbtl.callbacks.choice import make_displays
from sdmbtl.callbacks.display import RunDisplay
from sdmbtl.callbacks.event import Callback, Event, Pace, Stage
from sdmbtl.callbacks.line_display import LineDisplay
from sdmbtl.callbacks.notebook_display import NotebookDisplay
from sdmbtl.callbacks.tensorboard import TensorBoardWriter

__all__ = [
    "Callback",
    "CallbackList",
    "Event",
    "LineDisplay",
    "NotebookDisplay",
    "Pace",
    "RunDisplay",
    "Stage",
    "TensorBoardWriter",
    "make_displays",
]
