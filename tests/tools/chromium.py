# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Drives pages in headless Chromium through its debugging pipe (--remote-debugging-pipe): real keys, real time.

    with Browser() as browser:
        browser.open(path).value_of("document.title")
"""

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SECONDS = 60


class Browser:
    def __init__(self):
        self.numbers = itertools.count(1)
        self.received = b""
        self.pages = {}  # By session.

    def __enter__(self):
        self.profile = tempfile.mkdtemp(prefix="chromium.")
        commands, self.commands = os.pipe()
        self.answers, answers = os.pipe()

        def place_pipes():  # In the child: the browser reads from descriptor 3, and writes to 4.
            high = [os.dup(each) for each in (commands, answers, commands, answers)][2:]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen(
            [PROGRAM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             f"--user-data-dir={self.profile}", "--remote-debugging-pipe", "about:blank"],
            preexec_fn=place_pipes, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(answers)
        return self

    def __exit__(self, *_):
        try:
            self.call(None, "Browser.close")
            self.process.wait(10)
        except (OSError, EOFError, TimeoutError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.commands)
        os.close(self.answers)
        shutil.rmtree(self.profile, ignore_errors=True)

    def open(self, path, **how):
        """Opens a file (a Path), or an address."""
        target = self.call(None, "Target.createTarget", url="about:blank")["targetId"]
        session = self.call(None, "Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.pages[session] = page = Page(self, session, path)
        page.load(**how)
        return page

    def call(self, session, method, **parameters):
        """Returns the response of the browser."""
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": parameters, **({"sessionId": session} if session else {})}
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + SECONDS
        while True:
            answer = self.next_message(end)
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            if page := self.pages.get(answer.get("sessionId")):
                page.note(answer["method"], answer["params"])

    def next_message(self, end):
        while b"\0" not in self.received:
            if not select.select([self.answers], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            more = os.read(self.answers, 1 << 20)
            if not more:
                raise EOFError("the browser has ended")
            self.received += more
        message, self.received = self.received.split(b"\0", 1)
        return json.loads(message)


class Page:
    def __init__(self, browser, session, path):
        self.browser, self.session, self.path = browser, session, path
        self.requested, self.problems = [], []

    def call(self, method, **parameters):
        return self.browser.call(self.session, method, **parameters)

    def load(self, width=1000, height=800, scheme="light"):
        for domain in ("Page", "Runtime", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.navigate", url=self.path.resolve().as_uri() if isinstance(self.path, Path) else self.path)
        self.wait_for("location.protocol !== 'about:' && document.readyState === 'complete'")

    def note(self, event, parameters):
        if event == "Network.requestWillBeSent":
            self.requested.append(parameters["request"]["url"])
        if event == "Runtime.exceptionThrown":
            self.problems.append(parameters["exceptionDetails"])

    def close(self):
        self.call("Page.close")

    def value_of(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait_for(self, expression):
        """Waits until the value is truthy, on this page or after a navigation, and returns it."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            try:
                if value := self.value_of(expression):
                    return value
            except RuntimeError as error:
                if "Inspected target navigated" not in str(error):
                    raise
            time.sleep(0.02)
        raise TimeoutError(f"never true: {expression}")

    def press(self, *keys):
        for key in keys:
            code = {"Tab": 9, "Enter": 13, "PageUp": 33, "PageDown": 34, "End": 35, "Home": 36, "ArrowLeft": 37,
                    "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}[key]
            text = {"text": "\r"} if key == "Enter" else {}
            self.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, windowsVirtualKeyCode=code, **text)
            self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key, windowsVirtualKeyCode=code)

    def screenshot(self) -> bytes:
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
