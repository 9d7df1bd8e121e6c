"""A page that follows a study while it runs: a read-only server for this machine alone."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Hashable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from sdmbtl.errors import SdmbtlError
from sdmbtl.report.page import make_page
from sdmbtl.report.study_data import read_progress, study_data

if TYPE_CHECKING:
    from sdmbtl.studies import Study

#: Only this machine can reach the server.
ADDRESS = "127.0.0.1"
#: Seconds after which a silent connection is closed.
SILENCE = 10.0
#: Seconds after which `handle_request` returns without a request.
PAUSE = 0.5

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class LivePage:
    """The page of a study, made again only when the study has changed."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._lock = threading.Lock()
        self._seen: Hashable = None
        self._data: dict[str, Any] = {}
        self._progress: dict[str, Any] | None = None
        self._page = self._tag = ""

    def current(self) -> tuple[str, str]:
        """Return the page, and a tag that changes with it."""
        with self._lock:
            now = (self._study.store.data_version(), self._study.running_process)
            progress = read_progress(self._study)
            if now != self._seen:
                self._study.refresh()
                self._data = study_data(self._study)
            if (now, progress) != (self._seen, self._progress):
                self._page = make_page({**self._data, "progress": progress}, live=True)
                self._tag = f'"{hashlib.sha256(self._page.encode()).hexdigest()[:32]}"'
                self._seen, self._progress = now, progress
            return self._page, self._tag


class LiveServer(ThreadingHTTPServer):
    """Serves a page to browsers on this machine, at a port or, with 0, at any that is free."""

    daemon_threads = True
    timeout = PAUSE

    def __init__(self, page: LivePage, port: int = 0) -> None:
        self.page = page
        super().__init__((ADDRESS, port), _Handler)
        self.url = f"http://{ADDRESS}:{self.server_port}/"
        #: Names under which browsers may ask for the page.
        self.hosts = (f"{ADDRESS}:{self.server_port}", f"localhost:{self.server_port}")


class _Handler(BaseHTTPRequestHandler):
    """Answers GET; the library refuses all other methods."""

    server: LiveServer
    server_version = "sdmbtl"
    sys_version = ""
    timeout = SILENCE

    def do_GET(self) -> None:
        """Answer with the page."""
        foreign = self._foreign()
        if foreign is not None:
            self._send(HTTPStatus.FORBIDDEN, foreign)
        elif self.path.partition("?")[0] != "/":
            self._send(HTTPStatus.NOT_FOUND, "There is nothing here. The page is at /")
        else:
            try:
                page, tag = self.server.page.current()
            except (SdmbtlError, OSError) as error:
                text = f"The study cannot be read now: {error}"
                self._send(HTTPStatus.SERVICE_UNAVAILABLE, text)
                return
            if self.headers.get("If-None-Match") == tag:
                self._send(HTTPStatus.NOT_MODIFIED, "", ETag=tag)
            else:
                self._send(HTTPStatus.OK, page, kind="text/html", ETag=tag)

    def _foreign(self) -> str | None:
        """Explain why a request is refused that another site may have caused; None for any other.

        A page of another site can have a browser ask for anything on this machine.
        """
        if self.headers.get("Host", "") not in self.server.hosts:
            return f"This page is at {self.server.url} and under no other name."
        origin = self.headers.get("Origin")
        if origin is not None and origin not in {f"http://{host}" for host in self.server.hosts}:
            return "Other sites may not read this page."
        if self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            return f"Other sites may not lead here. Enter {self.server.url} in the browser."
        return None

    def _send(
        self, status: HTTPStatus, text: str, *, kind: str = "text/plain", **headers: str
    ) -> None:
        content = text.encode()
        self.send_response(status)
        for name, value in {**_HEADERS, **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        if status != HTTPStatus.NOT_MODIFIED:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Print nothing: the terminal belongs to the command."""
