# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""pytest --tachbpf: one recording of the session, cut by test.

pytest imports this module in every session where the package is installed, so that everything else is
imported only with --tachbpf. With pytest-xdist each worker records itself and hands its tests to the
controller, which shows those of all.
"""
from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generator, Optional

import pytest

if TYPE_CHECKING:
    from ._record import Recording
    from ._region import region
    from ._tests import Comparison, Measured

MODES = ("cpu", "wall", "gil")


def _percent(text: str) -> float:
    """`10%` or `10` as 0.1."""
    value = float(text.strip().removesuffix("%")) / 100
    if not 0 <= value < 1e6:
        raise ValueError(text)
    return value


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options; those with a file or a limit imply --tachbpf."""
    add = parser.getgroup("tachbpf", "profiling with tachbpf").addoption
    add("--tachbpf", action="store_true", help="profile the tests, and show the slowest ones with their hottest lines")
    add("--tachbpf-mode", choices=MODES, default="cpu", help="what to sample: cpu (default), wall (also waiting) or gil")
    add("--tachbpf-rate", type=int, metavar="N", help="samples per second and CPU (default: 999)")
    add("--tachbpf-native", action="store_true", help="also functions in C and other machine code")
    add("--tachbpf-top", type=int, default=10, metavar="N", help="show the N slowest tests (default: 10; 0: all)")
    add("--tachbpf-output", metavar="DIR", help="keep the recordings in this new directory")
    add("--tachbpf-html", metavar="DIR", help="write an index and a flame graph of each test to this directory")
    add("--tachbpf-write-baseline", metavar="FILE", help="write the time of each test to this file")
    add("--tachbpf-baseline", metavar="FILE", help="the file to compare with")
    add("--tachbpf-fail-over", type=_percent, metavar="PERCENT",
        help="fail if a test needs more time than in the baseline by PERCENT, and by more than the sampling error")


def _wanted(config: pytest.Config) -> bool:
    option = config.option
    return bool(option.tachbpf or option.tachbpf_html or option.tachbpf_write_baseline or option.tachbpf_output
                or option.tachbpf_fail_over is not None) and not option.collectonly


def pytest_configure(config: pytest.Config) -> None:
    """Adds the plugin itself, if it is wanted."""
    if not _wanted(config):
        return
    if (config.option.tachbpf_fail_over is not None) != bool(config.option.tachbpf_baseline):
        raise pytest.UsageError("--tachbpf-fail-over and --tachbpf-baseline need each other")
    if hasattr(config, "workerinput"):
        config.pluginmanager.register(Worker(config), "tachbpf-worker")
        return
    distributed = config.getoption("dist", "no") != "no"
    config.pluginmanager.register(Controller(config) if distributed else Alone(config), "tachbpf-session")


class Recorder:
    """Records this process; the spans of tests are regions of the recording."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.recording: Optional[Recording] = None

    def begin(self, path: Path) -> None:
        """Raises UsageError, in one line, where recording is not possible."""
        from ._program import Error
        from ._record import Recording

        option = self.config.option
        recording = Recording(path, {"mode": option.tachbpf_mode, "rate": option.tachbpf_rate, "native": option.tachbpf_native})
        try:
            recording.start()
        except Error as error:
            raise pytest.UsageError(f"--tachbpf: {error}") from None
        self.recording = recording

    def end(self) -> tuple[list[Measured], int]:
        """The tests, and how many spans were not kept. Raises Error."""
        from ._tests import cut

        if not self.recording:
            return [], 0
        recording, self.recording = self.recording, None
        recording.stop()
        return cut(recording.path, self.config.option.tachbpf_mode)

    def _span(self, item: pytest.Item, phase: str) -> region:
        from ._region import region
        from ._tests import ATTRIBUTE

        return region(item.nodeid, **{ATTRIBUTE: phase})

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, Any, None]:
        with self._span(item, "setup"):
            yield

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, None]:
        with self._span(item, "call"):
            yield

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, Any, None]:
        with self._span(item, "teardown"):
            yield


class Shown:
    """What the session that the user sees does with the tests: table, pages, baseline, exit status."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.tests: list[Measured] = []
        self.failed: set[str] = set()
        self.notes: list[str] = []          # what is missing, and why
        self.comparison: Optional[Comparison] = None
        self.known: dict[str, tuple[int, float]] = {}
        self.temporary = None if config.option.tachbpf_output else tempfile.TemporaryDirectory(prefix="tachbpf-pytest-")
        self.directory = Path(config.option.tachbpf_output or (self.temporary.name if self.temporary else ""))

    def prepare(self) -> None:
        """Raises UsageError for what cannot work, before the first test."""
        from ._program import Error
        from ._tests import read_baseline

        option = self.config.option
        try:
            self.directory.mkdir(parents=True, exist_ok=bool(self.temporary))
            if option.tachbpf_baseline:
                self.known = read_baseline(Path(option.tachbpf_baseline), option.tachbpf_mode)
        except FileExistsError:
            raise pytest.UsageError(f"--tachbpf-output: {self.directory} exists already") from None
        except OSError as error:
            raise pytest.UsageError(f"--tachbpf-output: cannot create {self.directory}: {error.strerror}") from None
        except Error as error:
            raise pytest.UsageError(str(error)) from None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(report.nodeid)

    def add(self, tests: list[Measured], lost: int) -> None:
        self.tests += tests
        if lost:
            self.notes.append(f"{lost} regions, of tests or the program's own, were not kept: there are too many")

    def conclude(self, session: pytest.Session) -> None:
        """Writes the files, and fails the session if tests have grown. A failed test's time says nothing."""
        from . import _tests, _tests_show
        from ._program import Error

        option = self.config.option
        passed = [test for test in self.tests if test.name not in self.failed]
        try:
            if option.tachbpf_html:
                made = _tests_show.write_pages(self.tests, Path(option.tachbpf_html))
                self.notes.append(f"{made} flame graphs: {Path(option.tachbpf_html) / 'index.html'}")
            if option.tachbpf_fail_over is not None:
                self.comparison = _tests.compare(passed, self.known, option.tachbpf_fail_over)
                if not self.comparison.compared:
                    raise Error(f"none of these tests is in {option.tachbpf_baseline}: nothing was compared")
            if option.tachbpf_write_baseline:
                Path(option.tachbpf_write_baseline).write_text(_tests.baseline(passed, option.tachbpf_mode))
                self.notes.append(f"baseline of {len(passed)} tests: {option.tachbpf_write_baseline}")
        except (Error, OSError) as error:
            self.fail(session, str(error))
        if self.comparison and self.comparison.grown and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def fail(self, session: pytest.Session, why: str) -> None:
        """What was asked for is not there: that must not look like a success."""
        self.notes.append(f"error: {why}")
        if session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        from . import _tests_show

        option, width = self.config.option, min(terminalreporter._tw.fullwidth, 120)
        if not self.tests and not self.notes:
            return
        terminalreporter.section(f"tachbpf: {len(self.tests)} tests, mode {option.tachbpf_mode}")
        lines = _tests_show.table(self.tests, option.tachbpf_top, width) if self.tests else []
        for line in lines + self.notes:
            terminalreporter.line(line)
        if self.comparison and self.comparison.compared:
            for line in _tests_show.comparison(self.comparison, option.tachbpf_fail_over, width):
                terminalreporter.line(line, red=bool(self.comparison.grown))

    def pytest_unconfigure(self) -> None:
        if self.temporary:
            self.temporary.cleanup()


class Alone(Shown, Recorder):
    """A session without workers."""

    def __init__(self, config: pytest.Config) -> None:
        Shown.__init__(self, config)
        Recorder.__init__(self, config)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        self.prepare()
        self.begin(self.directory / "main.tach")

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        from ._program import Error

        if not self.recording:
            return
        try:
            self.add(*self.end())
        except Error as error:
            self.fail(session, str(error))
        self.conclude(session)


class Controller(Shown):
    """pytest-xdist's controller: it runs no test, and adds up what its workers recorded."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """A worker that may not record could not say so in one line: it is tried here."""
        self.prepare()
        trial = Recorder(self.config)
        with tempfile.TemporaryDirectory(prefix="tachbpf-pytest-") as directory:
            trial.begin(Path(directory, "trial.tach"))
            assert trial.recording
            trial.recording.stop()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["tachbpf"] = str(self.directory.absolute())

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        from ._tests import Measured

        name, output = node.gateway.id, getattr(node, "workeroutput", {}).get("tachbpf")
        if output is None or output["error"]:
            self.notes.append(f"the tests of worker {name} are missing: {output['error'] if output else 'it ended early'}")
            return
        self.add([Measured(*row) for row in output["tests"]], output["lost"])

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self.conclude(session)


class Worker(Recorder):
    """A worker of pytest-xdist."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        inputs: dict[str, Any] = getattr(self.config, "workerinput")
        self.begin(Path(inputs["tachbpf"], f"{inputs['workerid']}.tach"))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        from ._program import Error

        output: dict[str, Any] = getattr(self.config, "workeroutput")
        try:
            tests, lost = self.end()
            output["tachbpf"] = {"tests": [tuple(test) for test in tests], "lost": lost, "error": ""}
        except Error as error:
            output["tachbpf"] = {"tests": [], "lost": 0, "error": str(error)}
