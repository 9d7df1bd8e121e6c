"""What is said between a simulation's process and who started it: a kind, a length, a content.

A request is R (reset), S (step), M (measures) or P (picture); an answer has the same kind, or is E,
the text of an error.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from sdmbtl_traffic.observation import SIZE
from sdmbtl_traffic.simulation import Agents, Moved

_HEAD = struct.Struct("<cI")
_COUNTS = struct.Struct("<III")


def send(stream: BinaryIO, kind: bytes, content: bytes) -> None:
    """Write a message."""
    stream.write(_HEAD.pack(kind, len(content)) + content)
    stream.flush()


def receive(read: Callable[[int], bytes]) -> tuple[bytes, bytes]:
    """Read a message: kind and content.

    Args:
        read: Reads exactly so many bytes, fewer if the stream has ended.

    Raises:
        EOFError: If there is none any more.
    """
    head = read(_HEAD.size)
    if len(head) < _HEAD.size:
        raise EOFError
    kind, length = _HEAD.unpack(head)
    content = read(length)
    if len(content) < length:
        raise EOFError
    return kind, content


def pack_step(moved: Moved, agents: Agents, *, is_over: bool) -> bytes:
    """What a step, or a reset of nobody, led to."""
    counts = _COUNTS.pack(len(moved.gone), len(agents.slots), is_over)
    return counts + b"".join(array.tobytes() for array in (*moved, *agents))


def unpack_step(content: bytes) -> tuple[Moved, Agents, bool]:
    """The reverse of `pack_step`."""
    moved, there, is_over = _COUNTS.unpack_from(content)
    shapes: list[tuple[type, tuple[int, ...]]] = [
        (np.bool_, (moved,)),
        *[(np.float32, (moved,))] * 3,
        (np.int32, (there,)),
        (np.float32, (there, SIZE)),
    ]
    arrays: list[NDArray[Any]] = []
    offset = _COUNTS.size
    for kind, shape in shapes:
        array: NDArray[Any] = np.frombuffer(content, kind, math.prod(shape), offset)
        arrays.append(array.reshape(shape))
        offset += array.nbytes
    return Moved(*arrays[:4]), Agents(*arrays[4:]), bool(is_over)
