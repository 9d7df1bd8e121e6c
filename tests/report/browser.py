"""A real browser, driven without a window through its DevTools protocol."""

import json
import os
import shutil
import subprocess
import tempfile
import time
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

from websockets.sync.client import connect

#: Where Debian's, and others', browser is.
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

#: Seconds after which something that must happen is taken not to: long, for busy machines.
PATIENCE = 300.0


def find_browser():
    """Path of the browser; None if there is none."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


@contextmanager
def started_browser():
    """A browser with a profile of its own, that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="sdmbtl-browser-") as profile:
        process = subprocess.Popen(
            [
                find_browser(),
                "--headless=new",
                "--no-sandbox",  # of which root has none
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--disable-background-networking",
                "--no-first-run",
                "--hide-scrollbars",
                "--remote-debugging-port=0",
                f"--user-data-dir={profile}",
                "about:blank",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": profile},
        )
        try:
            found = Browser(process, Path(profile))
            yield found
            found.close()
        finally:
            process.terminate()
            process.wait(PATIENCE)
            # Its children may write to the profile for a moment longer.
            shutil.rmtree(profile, ignore_errors=True)
            Path(profile).mkdir(exist_ok=True)


def connected(address):
    """What closes a connection to a part of the browser, and the connection."""
    opened = ExitStack()
    # Without pings: their thread would draw from `random` while hypothesis draws examples.
    connection = connect(address, max_size=None, open_timeout=PATIENCE, ping_interval=None)
    return opened, opened.enter_context(connection)


class Browser:
    """Opens pages."""

    def __init__(self, process, profile):
        port_file = profile / "DevToolsActivePort"
        wait_until(lambda: port_file.exists() and len(port_file.read_text().splitlines()) == 2)
        assert process.poll() is None, "the browser has ended"
        port, path = port_file.read_text().splitlines()
        self._port = port
        self._open, self._socket = connected(f"ws://127.0.0.1:{port}{path}")
        self._numbers = count(1)

    def open(self, address):
        """Open a page and wait until it is there."""
        number = next(self._numbers)
        message = {"id": number, "method": "Target.createTarget", "params": {"url": "about:blank"}}
        self._socket.send(json.dumps(message))
        while (answer := json.loads(self._socket.recv(PATIENCE))).get("id") != number:
            pass
        target = answer["result"]["targetId"]
        page = Page(f"ws://127.0.0.1:{self._port}/devtools/page/{target}")
        page.resize(1400)
        page.go(address)
        return page

    def close(self):
        self._open.close()


class Page:
    """One page, and all that it has complained about or asked for."""

    def __init__(self, address):
        self._open, self._socket = connected(address)
        self._numbers = count(1)
        self.complaints, self.requests = [], []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method, **params):
        """Have the browser do something; returns its answer."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            message = json.loads(self._socket.recv(PATIENCE))
            if message.get("id") == number:
                assert "error" not in message, message["error"]
                return message["result"]
            self._note(message)

    def _note(self, message):
        about = message.get("params", {})
        match message.get("method"):
            case "Runtime.exceptionThrown":
                self.complaints.append(about["exceptionDetails"])
            case "Log.entryAdded":
                self.complaints.append(about["entry"])
            case "Runtime.consoleAPICalled":
                self.complaints.append(about["args"])
            case "Network.requestWillBeSent":
                self.requests.append(about["request"]["url"])

    def go(self, address):
        self.call("Page.navigate", url=address)
        self.wait(
            "document.readyState === 'complete' && document.querySelector('h1, pre') !== null"
        )

    def resize(self, width):
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=False,
        )

    def run(self, script):
        """The value of a JavaScript expression, as JSON data."""
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, condition):
        """Wait until a JavaScript expression is true."""
        wait_until(lambda: self.run(f"Boolean({condition})"), condition)

    def text(self, selector):
        return self.run(f"document.querySelector({json.dumps(selector)}).textContent")

    def texts(self, selector):
        found = f"[...document.querySelectorAll({json.dumps(selector)})]"
        return self.run(f"{found}.map((one) => one.textContent)")

    def middle(self, selector):
        """Where the middle of an element is, after it was scrolled into view."""
        return self.run(
            "(() => { const one = document.querySelector(" + json.dumps(selector) + ");"
            "one.scrollIntoView({block: 'center', behavior: 'instant'});"
            "const box = one.getBoundingClientRect();"
            "return [box.left + box.width / 2, box.top + box.height / 2]; })()"
        )

    def point_at(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def hover(self, selector):
        self.point_at(*self.middle(selector))

    def click(self, selector):
        x, y = self.middle(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, *keys):
        for key in keys:
            for kind in ("keyDown", "keyUp"):
                self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, **_code(key))

    def focus(self, selector):
        self.run(f"document.querySelector({json.dumps(selector)}).focus()")

    def close(self):
        """Listen once more, then leave."""
        self.call("Runtime.evaluate", expression="0")
        self._open.close()


def _code(key):
    codes = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Escape": 27}
    return {"windowsVirtualKeyCode": codes[key]} if key in codes else {}


def wait_until(condition, what="the condition"):
    """Wait for something that must happen."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"{what} did not become true"
        time.sleep(0.05)
