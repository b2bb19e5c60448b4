# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`python -m tachbpf.mcp`: asked by the library's own client, over standard input and output."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tachbpf import mcp as ours

BURN = """
import sys, time
def burn(): return sum(i * i for i in range(1000))
print("ready", flush=True)
end = time.monotonic() + 60
while time.monotonic() < end: burn()
"""


def ask(directory: Path, *calls: tuple[str, dict[str, object]]) -> list[tuple[bool, str]]:
    """(whether it failed, text) of each call, in one session."""
    anyio = pytest.importorskip("anyio", reason="mcp, whose client asks, is not installed")
    pytest.importorskip("mcp", reason="mcp, whose client asks, is not installed")
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client
    answers = []

    async def session() -> None:
        parameters = StdioServerParameters(command=sys.executable, args=["-m", "tachbpf.mcp", str(directory)], env=dict(os.environ))
        async with Client(stdio_client(parameters)) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert set(tools) == {"processes", "record", "report", "annotate", "dump", "diff", "memory"}
            assert tools["record"].input_schema["properties"]["mode"]["enum"] == ["cpu", "wall", "offcpu", "gil", "exception", "mem"]
            assert "at most 60" in tools["record"].description
            for name, arguments in calls:
                result = await client.call_tool(name, arguments)
                assert result.structured_content is None
                text = "".join(part.text for part in result.content)
                assert len(text.encode()) <= ours.LIMIT
                answers.append((bool(result.is_error), text))

    anyio.run(session)
    return answers


def test_a_question_from_the_process_to_the_line(tmp_path: Path) -> None:
    if os.geteuid():
        pytest.skip("recording requires root")
    (tmp_path / "burn.py").write_text(BURN)
    with subprocess.Popen([sys.executable, tmp_path / "burn.py"], stdout=subprocess.PIPE) as target:
        assert target.stdout is not None and target.stdout.readline() == b"ready\n"
        record = {"pid": target.pid, "seconds": 0.5}
        try:
            answers = ask(tmp_path, ("processes", {}), ("record", {**record, "output": "never.tach", "dry_run": True}),
                          ("record", {**record, "output": "a.tach"}), ("record", {**record, "output": "a.tach"}),
                          ("record", {**record, "output": "b.tach", "mode": "wall"}),
                          ("report", {"profile": "a.tach"}), ("annotate", {"profile": "a.tach", "function": "burn"}),
                          ("diff", {"before": "a.tach", "after": "a.tach"}), ("dump", {"pid": target.pid}),
                          ("record", {**record, "output": "m.mlyze", "mode": "mem"}), ("memory", {"profile": "m.mlyze"}))
        finally:
            target.kill()
    processes, dry, recorded, again, wall, report, annotated, diff, dump, memory_recorded, memory = answers
    assert str(target.pid) in processes[1]
    assert dry[1].startswith("$ ") and f"record -p {target.pid} -d 0.5 -m cpu -o {tmp_path}/never.tach" in dry[1]
    assert not (tmp_path / "never.tach").exists()
    assert not recorded[0] and (tmp_path / "a.tach").exists(), recorded
    assert again[0] and "a.tach exists already: choose another name" in again[1]
    assert not wall[0] and (tmp_path / "b.tach").exists()
    assert "burn.<locals>.<genexpr>" in report[1] and "cpu mode" in report[1]
    assert "sum(i * i for i in range(1000))" in annotated[1]
    assert "No function changed" in diff[1]
    assert "burn" in dump[1] and not dump[0]
    assert not memory_recorded[0] and not memory[0] and "held" in memory[1], (memory_recorded, memory)


def test_what_is_refused(tmp_path: Path, golden: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link.tach").symlink_to(golden / "tach" / "cpu_raw.bin")
    (inside / "copy.tach").write_bytes((golden / "tach" / "cpu_raw.bin").read_bytes())
    answers = ask(inside, ("report", {"profile": str(golden / "tach" / "cpu_raw.bin")}), ("report", {"profile": "link.tach"}),
                  ("report", {"profile": "../x"}), ("record", {"pid": 1, "output": "../x.tach"}), ("record", {"pid": 1, "output": "x.html"}),
                  ("record", {"pid": 1, "output": "x.tach", "seconds": 3600}), ("record", {"pid": -1, "output": "x.tach"}),
                  ("record", {"pid": 1, "output": "x.tach", "mode": "--help"}), ("report", {"profile": "copy.tach", "limit": 0}),
                  ("report", {"profile": "copy.tach", "focus": "--help"}), ("report", {"profile": "copy.tach", "focus": "("}))
    words = ("is not below", "is not below", "No such file", "is not below", ".tach", "0.1 to 60", "expected 1 to", "Input should be", "1 to 200")
    for (failed, text), word in zip(answers, words):
        assert failed and word in text, (text, word)
    assert not answers[9][0] and "Usage" not in answers[9][1]       # an expression, and never an option
    assert answers[10][0] and "(" in answers[10][1]
    assert list(tmp_path.rglob("x*")) == []


def test_answers_are_cut_at_a_line_and_say_so() -> None:
    text = "".join(f"line {i} ü\n" for i in range(5000))
    shown = ours.cut(text)
    assert len(shown.encode()) <= ours.LIMIT
    lines = shown.splitlines()
    assert lines[-1] == f"[cut: {len(lines) - 1} of 5000 lines are shown, because an answer has at most 20000 bytes; ask for fewer rows]"
    assert text.startswith("\n".join(lines[:-1]))
    assert ours.cut("x\n") == "x\n" and len(ours.cut("x" * 30000).encode()) < 200


def test_without_rights_a_person_is_told_what_to_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """sudo that asks for a password, and none at all."""
    sudo = tmp_path / "sudo"
    sudo.write_text("#!/bin/sh\necho 'sudo: a password is required' >&2\nexit 1\n")
    sudo.chmod(0o755)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    tools = ours.Tools([tmp_path])
    for path in (str(tmp_path), str(tmp_path / "none")):
        monkeypatch.setenv("PATH", path)
        with pytest.raises(ours.Error, match=r"A person can run: sudo .*tachbpf dump 1$|a person can run: sudo .*tachbpf dump 1$"):
            tools.dump(1)


def test_an_old_python_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 0))
    assert ours.main([]) == 1
    assert "requires Python 3.10" in capsys.readouterr().err


def test_a_directory_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    if sys.version_info < (3, 10):
        pytest.skip("mcp requires Python 3.10")
    assert ours.main(["/nowhere/at/all"]) == 2
    assert "/nowhere/at/all is not a directory" in capsys.readouterr().err
