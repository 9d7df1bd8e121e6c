"""A spool: how jobs on many machines ask and tell without touching the database.

One process owns the study, on its own disk. Jobs put requests into a directory that all of them
see, as files that appear complete or not at all, and find the answers there. A request that was
answered, but whose file was left behind by a kill, is answered again and done once.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sdmbtl.errors import BusyError, SdmbtlError, StudyError
from sdmbtl.files import obstacle, write_atomically
from sdmbtl.foreign import parse_json

_MARK, _VERSION = "spool.json", 1
#: Seconds between two looks at a directory.
LOOK_EVERY = 0.1

#: Does a request, given its number; what it returns is the answer.
Handler = Callable[[str, dict[str, Any]], Any]


class Spool:
    """A directory of requests and answers.

    Args:
        path: The directory.

    Raises:
        StudyError: If it is not a spool.
    """

    def __init__(self, path: Path) -> None:
        if not is_spool(path):
            raise StudyError(
                f"There is no spool in {str(path)!r}. The process that owns the study makes it: "
                "sdmbtl serve STUDY --spool DIR"
            )
        self.path = path
        self._requests, self._answers = path / "requests", path / "answers"

    @classmethod
    def make(cls, path: Path) -> Spool:
        """Make a spool, or use the one that is there."""
        try:
            for name in ("requests", "answers"):
                (path / name).mkdir(parents=True, exist_ok=True)
            write_atomically(path / _MARK, json.dumps({"version": _VERSION}).encode())
        except OSError as error:
            raise StudyError(f"Cannot make a spool in {str(path)!r}: {error.strerror}.") from None
        return cls(path)

    def request(self, what: Mapping[str, Any], wait: float) -> Any:
        """Ask the owner to do something, and wait for its answer.

        Args:
            what: JSON data.
            wait: Seconds to wait.

        Raises:
            BusyError: If there is no answer until then. The request stays, and is done when the
                owner is back.
            StudyError: If it was refused.
        """
        number = uuid.uuid4().hex
        write_atomically(self._requests / f"{number}.json", json.dumps(dict(what)).encode())
        answer, end = self._answers / f"{number}.json", time.monotonic() + wait
        while not answer.exists():
            if time.monotonic() > end:
                raise BusyError(
                    f"The owner of the spool in {str(self.path)!r} has not answered within "
                    f"{wait:g} s. Is 'sdmbtl serve' running? The request stays in its place and "
                    "is done when it is."
                )
            time.sleep(LOOK_EVERY)
        found = parse_json(answer.read_bytes().decode())
        answer.unlink()
        if found["error"] is not None:
            raise StudyError(found["error"])
        return found["answer"]

    def serve(self, handle: Handler) -> int:
        """Answer the requests that are there, the oldest first; returns how many.

        Args:
            handle: Called with the number of a request and what it says. An error of ours is the
                answer, as is that somebody has written what is not a request.
        """
        found = self._requests.glob("[!.]*.json")
        # A pipe would be waited for, and a link may lead anywhere: neither is opened.
        files = [path for path in found if obstacle(path, self.path) is None]
        waiting = sorted(files, key=lambda path: path.stat().st_mtime_ns)
        for path in waiting:
            answer: dict[str, Any] = {"answer": None, "error": None}
            try:
                answer["answer"] = handle(path.stem, parse_json(path.read_bytes().decode()))
            except SdmbtlError as error:
                answer["error"] = str(error)
            except (AttributeError, LookupError, TypeError, ValueError) as error:
                answer["error"] = (
                    f"This is not a request of sdmbtl: {type(error).__name__}: {error}."
                )
            write_atomically(self._answers / path.name, json.dumps(answer).encode())
            path.unlink()
        return len(waiting)


def is_spool(path: Path) -> bool:
    """Whether a directory is a spool."""
    return (path / _MARK).is_file()
