# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A process that runs CPython's own JIT is marked, because its lines are less exact."""
import json

import pytest

from command import good
from present import need
from recording import Recording, succeeded

HOT = """
import time
def hot(n):
    t = 0
    for i in range(n):
        t += i & 7
        t ^= i
end = time.thread_time() + 3.5
while time.thread_time() < end:
    hot(5000)
"""


@pytest.mark.parametrize("name", ("sid-3.14", "sid-3.15"))
@pytest.mark.parametrize("jit", (True, False), ids=("jit", "no-jit"))
def test_the_jit_is_marked(name, jit, out):
    interpreter = need(name)
    if not interpreter.ask("import sys; print(str(sys._jit.is_available()).lower())"):
        pytest.skip(f"{name} was built without a JIT")
    command = ["env", f"PYTHON_JIT={int(jit)}", *interpreter.command("-c", HOT)]
    with Recording(["-r", 199, "-o", out / "rec", "--", *command]) as recording:
        succeeded(recording.wait())
    marks = [p["jit"] for p in json.loads((out / "rec/session.json").read_text())["processes"]
             if p["samples"]]
    assert marks == [jit]
    assert [f["jit"] for f in json.loads(good("info", "--json", out / "rec"))["files"]] == [jit]
    assert ("runs CPython's JIT" in good("info", out / "rec")) == jit
    # The function is right in any case.
    rows = json.loads(good("report", "--json", out / "rec"))["rows"]
    assert rows[0]["function"] == "hot", rows[0]
