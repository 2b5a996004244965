"""Debian's Firefox, driven by its own remote protocol: what a hand does, and what the browser complains of.

Playwright brings a Firefox of its own, which cannot be installed from packages. Marionette is built into every
Firefox: JSON over a local socket, each message after its length and a colon.
"""

import json
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")

PATIENCE_SECONDS = 120
"""What should appear may take this long on a busy machine."""

_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key of an element in the WebDriver standard
_OPTIONS = ("--no-remote", "--marionette", "--remote-allow-system-access")
_PREFERENCES = {
    "marionette.port": 0,
    "datareporting.policy.dataSubmissionEnabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.homepage_override.mstone": "ignore",
    "app.update.disabledForTesting": True,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "media.cubeb.backend": "alsa",  # which can play to nothing, where there is no sound card
}
_COMPLAINTS = """
const written = Cc["@mozilla.org/consoleAPI-storage;1"].getService(Ci.nsIConsoleAPIStorage).getEvents();
const of = (name) => String(name).startsWith(arguments[0]);
return [
  ...Services.console.getMessageArray()
    .filter((one) => one instanceof Ci.nsIScriptError && of(one.sourceName))
    .map((one) => `${one.category}: ${one.errorMessage} (${one.sourceName}:${one.lineNumber})`),
  ...written.filter((one) => ["error", "warn", "assert"].includes(one.level) && of(one.filename))
    .map((one) => `console: ${one.arguments.join(" ")}`),
];
"""
"""What scripts of an address and the content policy complained of: asked with the rights of the browser itself."""


class Firefox:
    """A window of a browser that remembers nothing; use it as a context."""

    def __init__(self, folder: Path) -> None:
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in _PREFERENCES.items()]
        (folder / "user.js").write_text("\n".join(lines))
        (folder / "asound.conf").write_text("pcm.!default { type null }\nctl.!default { type null }\n")
        self._output = folder / "output.txt"
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                [str(FIREFOX), "--headless", *_OPTIONS, "--profile", str(folder)],
                stdout=output,
                stderr=subprocess.STDOUT,
                env=os.environ | {"ALSA_CONFIG_PATH": str(folder / "asound.conf")},
            )
        self._number = 0
        self._socket = self._connected(folder / "MarionetteActivePort")
        self._file = self._socket.makefile("rb")
        self._receive()  # it introduces itself
        self.call("WebDriver:NewSession", capabilities={})
        self.call("WebDriver:SetWindowRect", width=1280, height=900)

    def _connected(self, port: Path) -> socket.socket:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            if port.exists() and (number := port.read_text().strip()):
                return socket.create_connection(("127.0.0.1", int(number)), timeout=PATIENCE_SECONDS)
            time.sleep(0.05)
        self._process.kill()
        raise RuntimeError(f"Firefox did not start: {self._output.read_text(errors='replace')[-500:]}")

    def __enter__(self) -> "Firefox":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._socket.close()
        self._process.terminate()
        self._process.wait(PATIENCE_SECONDS)

    def _receive(self) -> Any:
        length = b""
        while (byte := self._file.read(1)) != b":":
            if not byte:
                raise RuntimeError(f"Firefox has ended: {self._output.read_text(errors='replace')[-500:]}")
            length += byte
        return json.loads(self._file.read(int(length)))

    def call(self, command: str, **parameters: Any) -> Any:
        """Send a command and return its result."""
        self._number += 1
        message = json.dumps([0, self._number, command, parameters]).encode()
        self._socket.sendall(b"%d:%b" % (len(message), message))
        _, _, error, result = self._receive()
        if error:
            raise AssertionError(f"{command} {parameters}: {error['error']}: {error['message']}")
        return result

    # ------------------------------------------------------------ what one does and sees

    def open(self, address: str) -> None:
        self.call("WebDriver:Navigate", url=address)

    def evaluate(self, script: str, *arguments: Any) -> Any:
        """Return the value of an expression, in which `arguments` has what is given."""
        return self.call("WebDriver:ExecuteScript", script=f"return {script}", args=list(arguments))["value"]

    def until(self, script: str, *arguments: Any) -> Any:
        """Wait for an expression to be true, and return its value."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (value := self.evaluate(script, *arguments)):
            assert time.monotonic() < deadline, f"it did not come about: {script} {arguments}"
            time.sleep(0.05)
        return value

    def find(self, selector: str) -> str:
        """Wait for something to be seen on the page, and return its name."""
        self.until("Boolean(document.querySelector(arguments[0])?.checkVisibility())", selector)
        found = self.call("WebDriver:FindElement", using="css selector", value=selector)["value"]
        return str(found[_ELEMENT])

    def click(self, selector: str) -> None:
        """Scroll to something and press the mouse on it; it fails if something else lies over it."""
        self.call("WebDriver:ElementClick", id=self.find(selector))

    def write(self, selector: str, text: str) -> None:
        """Type into a field."""
        self.call("WebDriver:ElementSendKeys", id=self.find(selector), text=text)

    def text(self, selector: str) -> str:
        return str(self.call("WebDriver:GetElementText", id=self.find(selector))["value"])

    def complaints(self, address: str) -> list[str]:
        """Return errors and warnings of an address: of its scripts, its styles and its content policy."""
        self.call("Marionette:SetContext", value="chrome")
        found = self.call("WebDriver:ExecuteScript", script=_COMPLAINTS, args=[address], sandbox="system")["value"]
        self.call("Marionette:SetContext", value="content")
        return [str(one) for one in found]
