"""Structure detection and model-based transfer learning for contextual reinforcement learning.

>>> from sdmbtl import ContextSpace, make_selector
>>> space = ContextSpace(length=[0.2, 0.6, 1.0], mass=[0.5, 1.0, 2.0])
>>> selector = make_selector("auto", space, seed=0)
>>> selector.ask().context
{'length': 0.6, 'mass': 1.0}
"""

from sdmbtl.contexts import ContextSpace, Interval, Levels, Source
from sdmbtl.errors import SdmbtlError
from sdmbtl.selectors import (
    Selector,
    Trial,
    make_selector,
    selector_names,
)
from sdmbtl.transfer import ObservedRows
from sdmbtl.transfer.detection import MountainDetector

__version__ = "0.1.0"

__all__ = [
    "ContextSpace",
    "Interval",
    "Levels",
    "MountainDetector",
    "ObservedRows",
    "SdmbtlError",
    "Selector",
    "Source",
    "Trial",
    "__version__",
    "make_selector",
    "selector_names",
]
