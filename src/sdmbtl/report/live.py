"""A page that follows a study while it runs: a server for this machine alone, read-only."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Hashable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from sdmbtl.errors import SdmbtlError
from sdmbtl.report.page import make_page, page_json

#: Where it listens: other machines cannot reach it.
ADDRESS = "127.0.0.1"
#: Seconds after which a connection that says nothing is closed.
SILENCE = 10.0
#: Seconds after which `handle_request` returns although nobody asked for anything.
PAUSE = 0.5

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class LiveData:
    """What a live page shows, gathered anew only when something has changed.

    Args:
        gather: Gives the data.
        fingerprint: Gives something that differs once the data do; asked for every time.
    """

    def __init__(self, gather: Callable[[], Any], fingerprint: Callable[[], Hashable]) -> None:
        self._gather, self._fingerprint = gather, fingerprint
        self._lock = threading.Lock()
        self._seen: Hashable = None
        self._data: Any = None
        self._tag = self._text = ""

    def current(self) -> tuple[Any, str, str]:
        """The data, the same as JSON, and a tag that differs whenever they do."""
        with self._lock:
            now = self._fingerprint()
            if self._data is None or now != self._seen:
                self._data = self._gather()
                self._text = page_json(self._data)
                self._tag = f'"{hashlib.sha256(self._text.encode()).hexdigest()[:32]}"'
                self._seen = now
            return self._data, self._text, self._tag


class LiveServer(ThreadingHTTPServer):
    """Serves a page and its data to browsers on this machine.

    Args:
        data: What the page shows.
        port: Where to listen; 0 for any that is free.

    Raises:
        OSError: If the port is taken.
    """

    daemon_threads = True
    timeout = PAUSE

    def __init__(self, data: LiveData, port: int = 0) -> None:
        self.data = data
        super().__init__((ADDRESS, port), _Handler)

    @property
    def url(self) -> str:
        """Address of the page."""
        return f"http://{ADDRESS}:{self.server_port}/"

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names under which browsers may ask for it."""
        return (f"{ADDRESS}:{self.server_port}", f"localhost:{self.server_port}")


class _Handler(BaseHTTPRequestHandler):
    """Answers GET and HEAD; the library refuses whatever would change something."""

    server: LiveServer
    server_version = "sdmbtl"
    sys_version = ""
    timeout = SILENCE

    def do_GET(self) -> None:
        """Answer with the page, or its data."""
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        """The same without the content."""
        self._answer(with_body=False)

    def _answer(self, *, with_body: bool) -> None:
        foreign = self._foreign()
        if foreign is not None:
            self._send(HTTPStatus.FORBIDDEN, foreign)
            return
        path = self.path.partition("?")[0]
        if path not in ("/", "/data.json"):
            self._send(HTTPStatus.NOT_FOUND, "There is nothing here. The page is at /")
            return
        try:
            data, text, tag = self.server.data.current()
        except (SdmbtlError, OSError) as error:
            self._send(HTTPStatus.SERVICE_UNAVAILABLE, f"The data cannot be read now: {error}")
            return
        if path == "/":
            self._send(HTTPStatus.OK, make_page(data, live=True), "text/html", with_body=with_body)
        elif self.headers.get("If-None-Match") == tag:
            self._send(HTTPStatus.NOT_MODIFIED, "", ETag=tag)
        else:
            self._send(HTTPStatus.OK, text, "application/json", with_body=with_body, ETag=tag)

    def _foreign(self) -> str | None:
        """Why a request is refused that another site may have caused; None of any other.

        A page of another site can have a browser ask for anything on this machine, also under a
        name of its own that leads here.
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
        self,
        status: HTTPStatus,
        text: str,
        kind: str = "text/plain",
        *,
        with_body: bool = True,
        **headers: str,
    ) -> None:
        content = text.encode()
        self.send_response(status)
        for name, value in {**_HEADERS, **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        if status != HTTPStatus.NOT_MODIFIED:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if with_body:
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing: the terminal belongs to the command."""
