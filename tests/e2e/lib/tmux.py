# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A real terminal: a tmux server of its own, in which a shell runs. Keys go in, screens come out."""
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time

from present import absent
from processes import TIMEOUT


class Terminal:
    """A context manager. rows and columns: its size."""

    def __init__(self, columns=120, rows=24, cwd="/"):
        if not shutil.which("tmux"):
            absent("no tmux")
        self.size, self.cwd = (columns, rows), cwd

    def __enter__(self):
        self.directory = tempfile.TemporaryDirectory(prefix="tachbpf-tmux-")
        env = {k: v for k, v in os.environ.items() if not k.startswith("TMUX")}
        self.env = {**env, "TMUX_TMPDIR": self.directory.name, "LC_ALL": "C.UTF-8", "PS1": "$ "}
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", self.size[0], "-y", self.size[1], "-c", self.cwd,
                  "sh")
        self.until(str.strip)
        return self

    def __exit__(self, *_):
        subprocess.run(["tmux", "kill-server"], env=self.env, stderr=subprocess.DEVNULL)
        self.directory.cleanup()

    def tmux(self, *argv):
        return subprocess.run(["tmux", *map(str, argv)], env=self.env, check=True, capture_output=True,
                              text=True).stdout

    def keys(self, *keys):
        """Names as tmux has them: Enter, Escape, Tab, BTab, Up; or text."""
        self.tmux("send-keys", *keys)

    def text(self, text):
        self.tmux("send-keys", "-l", text)

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def resize(self, columns, rows):
        self.tmux("resize-window", "-x", columns, "-y", rows)

    def query(self, what):
        """A variable of the terminal: alternate_on, cursor_flag, ..."""
        return self.tmux("display-message", "-p", f"#{{{what}}}").strip()

    def until(self, condition, seconds=TIMEOUT):
        """The first screen that meets the condition."""
        end = time.monotonic() + seconds
        while True:
            screen = self.screen()
            if condition(screen):
                return screen
            assert time.monotonic() < end, f"no such screen came; the last one:\n{screen}"
            time.sleep(0.05)

    def run(self, *argv):
        """Start a command; its exit status is shown behind it."""
        self.text(shlex.join(map(str, argv)) + "; echo status=$?")
        self.keys("Enter")

    def ended(self):
        """The exit status of the command, and that the terminal is as it was."""
        status = re.compile(r"^status=(\d+)", re.M)     # not what was typed, which may be in several lines
        screen = self.until(status.search)
        assert self.query("alternate_on") == "0" and self.query("cursor_flag") == "1", screen
        self.text("stty -a | tr ' ' '\\n' | grep -E '^-?(icanon|echo);?$' | xargs echo modes")
        self.keys("Enter")
        modes = self.until(re.compile(r"^modes \S", re.M).search)
        assert "modes icanon echo" in modes, modes
        return int(status.search(screen)[1])
