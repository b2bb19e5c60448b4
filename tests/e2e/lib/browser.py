# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A headless Chromium, driven through its debugging pipe; nothing but the standard library.

A Page notes whatever a report must not do: console errors, exceptions, requests.
"""
import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

from processes import TIMEOUT

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-extensions", "--hide-scrollbars", "--force-color-profile=srgb",
         "--disable-dev-shm-usage", "--font-render-hinting=none")
KEYS = {"Enter": 13, "Escape": 27, "Backspace": 8, "ArrowLeft": 37, "ArrowUp": 38,
        "ArrowRight": 39, "ArrowDown": 40, "Home": 36}


def picture(page, name):
    """Kept in the directory $TACHBPF_SCREENSHOTS, if it is set."""
    directory = os.environ.get("TACHBPF_SCREENSHOTS")
    if directory:
        os.makedirs(directory, exist_ok=True)
        page.screenshot(os.path.join(directory, name + ".png"))


def find():
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """Use as a context manager; one process, any number of pages."""

    def __enter__(self):
        self.profile = tempfile.mkdtemp(prefix="tachbpf-chromium-")
        to_read, self.to_browser = os.pipe()
        self.from_browser, to_write = os.pipe()

        def descriptors():
            # Chromium reads commands from 3 and writes answers to 4.
            read, write = os.dup(to_read), os.dup(to_write)
            os.dup2(read, 3)
            os.dup2(write, 4)

        self.process = subprocess.Popen(
            [find(), *FLAGS, "--remote-debugging-pipe", f"--user-data-dir={self.profile}",
             "about:blank"], preexec_fn=descriptors, close_fds=False, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.buffer, self.last_id, self.pages = b"", 0, {}
        return self

    def __exit__(self, *_):
        with contextlib.suppress(Exception):
            self.call("Browser.close")
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, 9)
            self.process.wait()
        os.close(self.to_browser)
        os.close(self.from_browser)
        shutil.rmtree(self.profile, ignore_errors=True)

    def call(self, method, session=None, **params):
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to_browser, data):]
        while True:
            answer = self.receive()
            if answer.get("id") == self.last_id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def receive(self, timeout=TIMEOUT):
        end = time.monotonic() + timeout
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.from_browser], [], [],
                                        max(0, end - time.monotonic()))
            chunk = os.read(self.from_browser, 1 << 20) if ready else b""
            if not chunk:
                raise TimeoutError("the browser said nothing")
            self.buffer += chunk
        line, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(line)
        page = self.pages.get(message.get("sessionId"))
        if page and "method" in message:
            page.on_event(message["method"], message["params"])
        return message

    def open(self, path, width=1280, height=800, scheme="light", wait=True):
        page = Page(self, width, height, scheme)
        page.goto(path, wait)
        return page


class Page:
    def __init__(self, browser, width, height, scheme):
        self.browser, self.faults, self.requests = browser, [], []
        # A context of its own: nothing is remembered from other pages.
        self.context = browser.call("Target.createBrowserContext")["browserContextId"]
        self.target = browser.call("Target.createTarget", url="about:blank",
                                   browserContextId=self.context)["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target,
                                    flatten=True)["sessionId"]
        browser.pages[self.session] = self
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)
        self.prefer(scheme)

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def prefer(self, scheme):
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": scheme}])

    def on_event(self, method, params):
        if method == "Runtime.exceptionThrown":
            self.faults.append(json.dumps(params["exceptionDetails"])[:2000])
        elif method == "Runtime.consoleAPICalled":
            self.faults.append(f"console.{params['type']}: {json.dumps(params['args'])[:500]}")
        elif method == "Log.entryAdded":
            self.faults.append(f"log.{params['entry']['level']}: {params['entry']['text']}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def goto(self, path, wait=True):
        self.call("Page.navigate", url=f"file://{path}" if str(path).startswith("/") else path)
        if wait:
            self.until("window.report && (report.ready || report.error)")
            assert not self.run("report.error"), self.run("report.error")

    def run(self, script):
        """The value of an expression, which may be a promise."""
        done = self.call("Runtime.evaluate", expression=script, returnByValue=True,
                         awaitPromise=True)
        if "exceptionDetails" in done:
            raise AssertionError(f"{script}: {json.dumps(done['exceptionDetails'])[:2000]}")
        return done["result"].get("value")

    def until(self, condition, timeout=TIMEOUT):
        end = time.monotonic() + timeout
        while not self.run(f"!!({condition})"):
            assert time.monotonic() < end, f"never: {condition}"
            time.sleep(0.01)

    def settle(self):
        """Until what was asked for has been painted."""
        self.run("new Promise(f => requestAnimationFrame(() => requestAnimationFrame(f)))")

    def click(self, selector):
        x, y = self.run(f"""(() => {{ const r = document.querySelector({json.dumps(selector)})
            .getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }})()""")
        self.click_at(x, y)

    def click_at(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.settle()

    def tap(self, x, y):
        for kind, points in (("touchStart", [{"x": x, "y": y}]), ("touchEnd", [])):
            self.call("Input.dispatchTouchEvent", type=kind, touchPoints=points)
        self.settle()

    def hover(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.settle()

    def key(self, key):
        if key in KEYS:
            named = dict(key=key, code=key, windowsVirtualKeyCode=KEYS[key])
            if key == "Enter":
                named["text"] = "\r"
        else:
            named = dict(key=key, text=key)
        self.call("Input.dispatchKeyEvent", type="keyDown", **named)
        self.call("Input.dispatchKeyEvent", type="keyUp", **{k: v for k, v in named.items()
                                                             if k != "text"})
        self.settle()

    def type(self, text):
        self.call("Input.insertText", text=text)
        time.sleep(0.2)
        self.settle()

    def text(self, selector):
        return self.run(f"document.querySelector({json.dumps(selector)}).textContent")

    def screenshot(self, path):
        self.settle()
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as f:
            f.write(base64.b64decode(data))

    def close(self):
        self.browser.call("Target.disposeBrowserContext", browserContextId=self.context)
        self.browser.pages.pop(self.session, None)
