# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Recording this very process.

The recorder is the program tachbpf, in a process of its own. It reports on its standard output when
sampling begins, and ends when a line comes on its standard input (`tachbpf record --control`): an
unprivileged program may not send signals to what it starts with sudo.
"""
from __future__ import annotations

import functools
import inspect
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Callable, Optional, Sequence, TypeVar, Union

from . import _program, _region
from ._program import Error

if TYPE_CHECKING:
    from ._profile import Profile

Option = Union[bool, int, float, str, Sequence[str], None]
_Function = TypeVar("_Function", bound=Callable[..., Any])

_CAP_PERFMON, _CAP_BPF = 38, 39     # include/uapi/linux/capability.h
_REMEDY = ("run this program as root, allow `sudo -n {program}` in sudoers, or give tachbpf the capabilities: "
           "sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace=ep {program}")


def _arguments(options: dict[str, Option]) -> list[str]:
    """Options of `tachbpf record` as words: `min_wait="1ms"` is `--min-wait=1ms`, True a flag."""
    words: list[str] = []
    for name, value in options.items():
        flag = "--" + name.strip("_").replace("_", "-")
        if value is True:
            words.append(flag)
        elif isinstance(value, (list, tuple)):
            words += [f"{flag}={one}" for one in value]
        elif value is not None and value is not False:
            words.append(f"{flag}={value}")
    return words


def _inherits_rights() -> bool:
    """Returns true if programs that this one executes have the capabilities of a recorder."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapAmb:"):
            held = int(line.split()[1], 16)
            return bool(held >> _CAP_BPF & 1 and held >> _CAP_PERFMON & 1)
    return False


def _has_rights(program: str) -> bool:
    """Returns true if the program may record without sudo: it has file capabilities, or we are root."""
    if os.geteuid() == 0 or _inherits_rights():
        return True
    try:
        return bool(os.getxattr(program, "security.capability"))
    except OSError:
        return False


def _prefix(program: str) -> list[str]:
    """What the program has to be started with. Raises Error if there is no way."""
    if _has_rights(program):
        return []
    sudo = shutil.which("sudo")
    if sudo is None:
        raise Error("recording needs root, and there is no sudo: " + _REMEDY.format(program=program))
    return [sudo, "-n", "--"]


def _own_group() -> dict[str, Any]:
    """For Popen: Ctrl-C is for this program, which may go on. The terminal stays: sudo's tickets are per terminal."""
    return {"process_group": 0} if sys.version_info >= (3, 11) else {"preexec_fn": os.setpgrp}


def _why(stderr: bytes, status: int, program: str) -> str:
    """Why the recorder has ended, from what it wrote. What tachbpf did not say, sudo did."""
    if stderr and b"tachbpf: " not in stderr:
        said = stderr.decode(errors="replace").strip().splitlines()[-1]
        return f"recording needs root ({said}): {_REMEDY.format(program=program)}"
    return _program.complaint(stderr) or f"tachbpf record ended with status {status}"


class Recording:
    """A recording of this process, made by `record()`: a context manager or a decorator.

    `path` is the file, complete when the block has ended. With `children=True` it is a directory.
    """

    def __init__(self, path: Union[str, os.PathLike[str]], options: dict[str, Option]) -> None:
        self.path = Path(path).absolute()
        self._options = options
        self._lock = threading.Lock()
        self._process: Optional[subprocess.Popen[bytes]] = None
        self._stderr: Optional[IO[bytes]] = None
        self._program = ""
        self._pid = 0
        self._kept: Optional[_region.Kept] = None

    def __repr__(self) -> str:
        return f"<tachbpf.Recording of {self.path}{' (recording)' if self._process else ''}>"

    def _command(self) -> list[str]:
        self._program = _program.find()
        return [*_prefix(self._program), self._program, "record", "--quiet", "--control", f"--pid={os.getpid()}",
                f"--output={self.path}", *_arguments(self._options)]

    def start(self) -> None:
        """Returns when every sample from now on is recorded. Raises Error if recording is not possible."""
        if self._process:
            raise Error(f"{self.path} is being recorded already")
        command = self._command()
        self._pid = os.getpid()
        self._stderr = tempfile.TemporaryFile()
        try:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                             stderr=self._stderr, **_own_group())
        except OSError as error:
            raise Error(f"cannot start {command[0]}: {error.strerror}") from error
        try:
            assert self._process.stdout
            begun = self._process.stdout.readline() == b"recording\n"
        except BaseException:       # Ctrl-C while it starts
            self._end()
            raise
        if not begun:
            raise Error(self._end() or "tachbpf ended before it recorded anything")
        self._kept = _region.keep()

    def _end(self) -> str:
        """Ends the recorder and waits for its files. Returns why it failed; empty if it did not."""
        with self._lock:
            process, self._process = self._process, None
        if process is None:
            return ""
        assert process.stdin and process.stdout and self._stderr
        try:
            process.stdin.write(b"\n")
            process.stdin.close()
        except BrokenPipeError:     # it has ended: by `duration`, or an error
            pass
        process.stdout.read()       # with `json`, more than a pipe holds
        status = process.wait()
        process.stdout.close()
        self._stderr.seek(0)
        said = self._stderr.read()
        self._stderr.close()
        return _why(said, status, self._program) if status else ""

    def stop(self) -> None:
        """Ends the recording; `path` is complete then. The end of the block does the same.

        Does nothing if it has ended, and in a forked child: the recording is its parent's.
        Raises Error if something was not recorded.
        """
        if os.getpid() != self._pid or self._process is None:
            return
        end_ns = time.monotonic_ns()
        why = self._end()
        if self._kept:
            self._kept.end(self.path, end_ns)
        if why:
            raise Error(why)

    def read(self) -> Profile:
        """The profile that was recorded, as `tachbpf.read()` returns it."""
        from ._profile import read

        self.stop()
        return read(self.path)

    def __enter__(self) -> Recording:
        self.start()
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        try:
            self.stop()
        except Error as failure:
            if error is None:
                raise
            warnings.warn(f"{self.path} was not recorded: {failure}", RuntimeWarning, stacklevel=2)

    def __call__(self, function: _Function) -> _Function:
        """As a decorator: each call is a recording of its own. With a fixed path that needs `force=True`."""
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError("a recording cannot decorate a generator function: use `with` in it, or around its use")

        @functools.wraps(function)
        def recorded(*args: Any, **named: Any) -> Any:
            with Recording(self.path, self._options):
                return function(*args, **named)

        @functools.wraps(function)
        async def awaited(*args: Any, **named: Any) -> Any:
            with Recording(self.path, self._options):
                return await function(*args, **named)

        return awaited if inspect.iscoroutinefunction(function) else recorded  # type: ignore[return-value]


def record(path: Union[str, os.PathLike[str]], *, mode: Optional[str] = None, native: Union[bool, str] = False,
           rate: Union[int, str, None] = None, force: bool = False, **options: Option) -> Recording:
    """Profiles this process while a block, or each call of a decorated function, runs.

        with tachbpf.record("app.tach", mode="wall") as r:
            work()
        print(r.read().lines())

    The block begins when sampling has begun; after it, the file is complete. Arguments are the
    options of `tachbpf record`, with `_` for `-`: `mode` ("cpu", "wall", "offcpu", "gil",
    "exception", "all" or "mem"), `native` (True, "full" or "lines"), `rate` (samples a second and
    CPU), `force` (replace an existing file), `children=True` (then path becomes a directory),
    `min_wait="1ms"`, `kernel=True`, `async_=True` ...

    Recording needs root: tachbpf is started with `sudo -n`, which never asks for a password, unless
    this process is root or tachbpf has capabilities. The file belongs to the user. Raises Error,
    with the remedy, if recording is not possible.
    """
    return Recording(path, {"mode": mode, "native": native, "rate": rate, "force": force, **options})
