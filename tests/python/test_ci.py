# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""packaging/ci: the shell steps of the GitHub action and of the GitLab job, run as a runner runs them."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tachbpf._program import find

REPO = Path(__file__).resolve().parents[2]

yaml = pytest.importorskip("yaml", reason="PyYAML, which parses the files of packaging/ci, is not installed")
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="recording requires root")

SLOW = "def {name}():\n    return sum(i * i for i in range(8000))\n\nfor i in range(1200):\n    {name}()\n"


def action() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((REPO / "packaging" / "ci" / "action.yml").read_text())
    return found


def step(name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(s for s in action()["runs"]["steps"] if s["name"] == name)
    return found


def gitlab() -> dict[str, Any]:
    job: dict[str, Any] = yaml.safe_load((REPO / "packaging" / "ci" / "gitlab.yml").read_text())[".tachbpf"]
    return job


def shell(script: str, cwd: Path, user: int = 0, **env: str) -> subprocess.CompletedProcess[str]:
    """As GitHub's `shell: bash` does: bash -eo pipefail. PATH has the tachbpf under test first."""
    clean = {"PATH": f"{Path(find()).parent}:/usr/bin:/bin", "HOME": str(cwd), "RUNNER_TEMP": str(cwd),
             "GITHUB_STEP_SUMMARY": str(cwd / "summary.md"), "GITHUB_OUTPUT": str(cwd / "output"), **env}
    return subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script], cwd=cwd, env=clean, text=True,
                          capture_output=True, timeout=120, check=False, **({"user": user} if user else {}))


def test_the_files_are_what_their_systems_expect() -> None:
    a = action()
    assert a["runs"]["using"] == "composite" and a["inputs"]["command"]["required"] is True
    for s in a["runs"]["steps"]:
        assert ("run" in s) == ("shell" in s) and ("run" in s) != ("uses" in s), s["name"]
        # What a person types reaches the shell in the environment: never as a part of the script.
        assert "${{" not in s.get("run", ""), s["name"]
    job = gitlab()
    assert job["artifacts"]["when"] == "always" and "tachbpf.md" in job["artifacts"]["paths"]
    assert all(isinstance(v, str) for v in job["variables"].values())


def profiled(cwd: Path, name: str, command: str) -> subprocess.CompletedProcess[str]:
    return shell(step("Record")["run"], cwd, COMMAND=command, PROFILE=name, MODE="cpu")


@root_only
def test_action(tmp_path: Path) -> None:
    (tmp_path / "bench.py").write_text(SLOW.format(name="before"))
    done = profiled(tmp_path, "main", f"{sys.executable} bench.py")
    assert done.returncode == 0, done
    done = shell(step("Compare")["run"], tmp_path, PROFILE="main", BASELINE="", FAIL_OVER="")
    assert done.returncode == 0 and "before" in (tmp_path / "summary.md").read_text(), done
    (tmp_path / "bench.py").write_text(SLOW.format(name="other"))
    assert profiled(tmp_path, "branch", f"{sys.executable} bench.py").returncode == 0
    (tmp_path / "summary.md").unlink()
    done = shell(step("Compare")["run"], tmp_path, PROFILE="branch", BASELINE="main", FAIL_OVER="5")
    assert done.returncode == 4 and "::error title=tachbpf::a function has become slower" in done.stdout, done
    text = (tmp_path / "summary.md").read_text()
    assert text.startswith("**Slower:** `other.<locals>.<genexpr>`") and "**Faster:** `before.<locals>.<genexpr>`" in text
    assert f"summary={tmp_path}/tachbpf.md" in (tmp_path / "output").read_text()
    # A baseline that is not there yet is no error; the command's own status is the step's.
    done = shell(step("Compare")["run"], tmp_path, PROFILE="branch", BASELINE="none", FAIL_OVER="5")
    assert done.returncode == 0 and "::notice" in done.stdout
    assert profiled(tmp_path, "failed", f"{sys.executable} -c 'raise SystemExit(7)'").returncode == 7


@pytest.mark.parametrize("earlier,method,path", [("", "POST", "issues/7/comments"), ("42", "PATCH", "issues/comments/42")])
def test_a_comment_is_replaced(tmp_path: Path, earlier: str, method: str, path: str) -> None:
    """With a gh that notes what it is asked for: the tokens and the server are GitHub's."""
    (tmp_path / "gh").write_text(f"""#!/bin/bash
printf '%s\\n' "$*" >> {tmp_path}/asked
[[ $* = *--jq* ]] && echo '{earlier}'
exit 0
""")
    (tmp_path / "gh").chmod(0o755)
    (tmp_path / "tachbpf.md").write_text("**Slower:** `f`\n")
    done = shell(step("Comment")["run"], tmp_path, PATH=f"{tmp_path}:/usr/bin:/bin", SUMMARY=str(tmp_path / "tachbpf.md"),
                 GITHUB_REPOSITORY="me/shop", PULL_REQUEST="7")
    assert done.returncode == 0, done
    assert (tmp_path / "asked").read_text().splitlines()[-1] == \
        f"api --silent --method {method} repos/me/shop/{path} -F body=@{tmp_path}/tachbpf-comment.md"
    assert (tmp_path / "tachbpf-comment.md").read_text() == "<!-- tachbpf -->\n**Slower:** `f`\n"


@root_only
def test_gitlab(tmp_path: Path) -> None:
    script, = gitlab()["script"]
    variables = {**gitlab()["variables"], "TACHBPF_COMMAND": f"{sys.executable} bench.py"}
    (tmp_path / "bench.py").write_text(SLOW.format(name="before"))
    done = shell(script, tmp_path, **{**variables, "TACHBPF_PROFILE": "main"})
    assert done.returncode == 0 and "before" in done.stdout, done
    (tmp_path / "bench.py").write_text(SLOW.format(name="other"))
    done = shell(script, tmp_path, **{**variables, "TACHBPF_PROFILE": "branch", "TACHBPF_BASELINE": "main", "TACHBPF_FAIL_OVER": "5"})
    assert done.returncode == 4 and "**Slower:** `other.<locals>.<genexpr>`" in (tmp_path / "tachbpf.md").read_text(), done


@root_only
def test_a_runner_without_rights_is_told_what_to_do(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    for parent in tmp_path.parents[:2]:
        parent.chmod(0o755)
    only = tmp_path / "bin"
    only.mkdir()
    (only / "tachbpf").write_text("#!/bin/sh\nexit 0\n")
    (only / "tachbpf").chmod(0o755)
    for tool in ("id", "bash", "cat"):
        (only / tool).symlink_to(f"/usr/bin/{tool}")
    script, = gitlab()["script"]
    for run, more in ((step("Record")["run"], {"COMMAND": "true", "PROFILE": "p", "MODE": "cpu"}),
                      (script, {**gitlab()["variables"]})):
        done = shell(run, tmp_path, user=65534, **{**more, "PATH": str(only)})
        assert done.returncode == 1 and "may not use sudo: use a runner" in done.stdout + done.stderr, done
        done = shell(run, tmp_path, **{**more, "PATH": "/usr/bin:/bin"})
        assert done.returncode == 1 and "pip install tachbpf" in done.stdout + done.stderr, done
        (only / "tachbpf").write_text("#!/bin/sh\necho 'missing  btf'\nexit 1\n")
        done = shell(run, tmp_path, **{**more, "PATH": str(only)})
        assert done.returncode == 1 and "cannot record" in done.stdout + done.stderr and "missing  btf" in done.stdout, done
        (only / "tachbpf").write_text("#!/bin/sh\nexit 0\n")
