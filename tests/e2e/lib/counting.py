# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""pytest plugin: a tier's counts for tally.py, with each failed test and its evidence."""
import os

import pytest

import tally
from grouping import plain_name


def failure(report, root):
    """(test, its evidence); the test by its path from the repository's top."""
    where = dict(getattr(report, "user_properties", ())).get("evidence", "")
    return f"tests/{root.name}/{plain_name(report.nodeid)}", where


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    config = session.config
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if hasattr(config, "workerinput") or not reporter:
        return
    said = {kind: reporter.stats.get(kind, []) for kind in
            ("passed", "failed", "error", "skipped", "xfailed", "xpassed")}
    failed = said["failed"] + said["error"] + said["xpassed"]
    tally.add(os.environ.get("TACHBPF_TIER", "tests"), passed=len(said["passed"]),
              failed=len(failed), skipped=len(said["skipped"]) + len(said["xfailed"]),
              failures=dict.fromkeys(failure(r, config.rootpath) for r in failed))
