# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""tachbpf completion, as bash, zsh and fish themselves use it."""
import os
import pty
import re
import select
import shutil
import subprocess
import time

import pytest

from command import good, refused, run
from paths import binary
from processes import TIMEOUT

COMMANDS = {"record", "top", "dump", "heap", "info", "report", "convert", "open", "mem", "merge", "split", "diff", "gil",
            "recover", "doctor", "ps", "agent", "completion", "help"}

# bash calls the function as it does when the user types a tab after the last word.
BASH = r"""
set -u
eval "$("$0" completion bash)"
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
_tachbpf
printf '%s\n' "${COMPREPLY[@]-}"
"""
FISH = "$TACHBPF completion fish | source; complete -C $LINE"


@pytest.fixture
def shell_home(tmp_path, monkeypatch):
    """Nothing of the user's own settings, and files with these names."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for name in ("first.tach", "second.tach"):
        (tmp_path / name).write_text("")
    return tmp_path


def bash(*words):
    # As bash does it: "=" begins a word of its own.
    cut = [part for word in words for part in re.split("(=)", word) if part or "=" not in word]
    return offered(["bash", "-c", BASH, binary(), "tachbpf", *cut])


def fish(*words):
    lines = offered(["fish", "-c", FISH], TACHBPF=str(binary()), LINE=" ".join(("tachbpf", *words)))
    # "word<tab>its help"; of --option=value, fish repeats the option.
    return {re.sub(r"^--[a-z-]+=", "", line.split("\t")[0]) for line in lines}


def offered(argv, **env):
    if not shutil.which(argv[0]):
        pytest.skip(f"{argv[0]} is not installed (make check-deps)")
    done = subprocess.run(argv, capture_output=True, text=True, timeout=TIMEOUT,
                          env={**os.environ, **env})
    assert done.returncode == 0 and not done.stderr, done
    return {line.strip() for line in done.stdout.splitlines() if line.strip()}


# An interactive zsh that prints "<word>" for every word that it would list after ^T.
ZSH = r"""
stty cols 4000
fpath=($PWD $fpath)
autoload -Uz compinit
compinit -u -D
compadd() {
	local -a words
	if [[ " $* " == *" -"[OAD]" "* ]]; then		# asks which words match, adds none
		builtin compadd "$@"
		return
	fi
	builtin compadd -O words "$@"
	offered+=("${words[@]}")
	builtin compadd "$@"
}
list() {
	offered=()
	_main_complete
	print -l -- "<"$^offered">" "<EN""D>"
}
zle -C list list-choices list
bindkey '^T' list
echo "<REA""DY>"
"""


def zsh(*words):
    if not shutil.which("zsh"):
        pytest.skip("zsh is not installed (make check-deps)")
    for name, text in (("_tachbpf", good("completion", "zsh")), ("start", ZSH)):
        with open(name, "w") as out:
            out.write(text)
    pid, master = pty.fork()
    if pid == 0:
        os.environ.update(TERM="dumb", PS1="")
        os.execvp("zsh", ["zsh", "-f", "-i"])
    try:
        ask(master, "source ./start\n", b"<READY>")
        text = ask(master, " ".join(("tachbpf", *words)) + "\x14", b"<END>")
    finally:
        os.close(master)
        os.kill(pid, 9)
        os.waitpid(pid, 0)
    return set(re.findall("<([^<>]*)>", text.decode(errors="replace"))) - {"END"}


def ask(master, keys, until):
    """What the shell prints, up to this."""
    os.write(master, keys.encode())
    text, limit = b"", time.monotonic() + TIMEOUT
    while until not in text:
        assert time.monotonic() < limit, text
        if select.select([master], [], [], 1)[0]:
            text += os.read(master, 65536)
    return text


SHELLS = pytest.mark.parametrize("shell", [bash, zsh, fish], ids=lambda f: f.__name__)


@SHELLS
def test_commands(shell, shell_home):
    assert COMMANDS <= shell("")
    assert shell("re") >= {"report", "record", "recover"} and "merge" not in shell("re")
    assert COMMANDS - {"help"} <= shell("help", "")


@SHELLS
def test_options_are_those_of_the_command(shell, shell_home):
    """Every option of the help, and no other command's."""
    for command in ("record", "convert"):
        helped = set(re.findall(r"--[a-z][a-z-]+", "\n".join(
            re.findall(r"^ +(?:-\w, )?--[a-z-]+", good("help", command), re.M))))
        got = {word for word in shell(command, "--") if word.startswith("--")}
        assert len(helped) > 10 and helped == got - {"--"}
    assert {"--duration", "--rate"} <= shell("--")      # without a command: record's


@SHELLS
def test_options_of_the_agent(shell, shell_home, monkeypatch):
    """They are the agent's own, from its help."""
    agent = shell_home / "tachbpf"
    agent.write_text("#!/bin/sh\n[ \"$1\" = agent ] && exec \"$0-agent\" --help\n"
                     f"exec {binary()} \"$@\"\n")
    (shell_home / "tachbpf-agent").write_text("#!/bin/sh\ncat <<'END'\nGeneral:\n      --config FILE  a file\n"
                                              "  -h, --help     this text\nEND\n")
    for program in ("tachbpf", "tachbpf-agent"):
        (shell_home / program).chmod(0o755)
    monkeypatch.setenv("PATH", f"{shell_home}:{os.environ['PATH']}")
    assert {"--config", "--help"} == {w for w in shell("agent", "--") if w.startswith("--")} - {"--"}
    assert "ctl" in shell("agent", "")


@SHELLS
def test_values(shell, shell_home):
    assert {"cpu", "wall", "offcpu", "gil", "exception", "all"} <= shell("record", "--mode", "")
    assert {"flamegraph", "speedscope", "pprof"} <= shell("convert", "--format", "")
    assert "first.tach" not in shell("convert", "--format", "")
    assert {"bash", "zsh", "fish"} <= shell("completion", "")


@pytest.mark.parametrize("shell", [bash, fish], ids=["bash", "fish"])
def test_value_after_an_equals_sign(shell, shell_home):
    assert shell("convert", "--format=fl") == {"flamegraph"}
    assert "heatmap" in shell("convert", "--format=")


@SHELLS
def test_a_value_that_can_be_left_out(shell, shell_home):
    assert "full" not in shell("--native", "")
    assert {"--native"} <= {word.rstrip("=") for word in shell("--nat")}


@pytest.mark.parametrize("shell", [bash, fish], ids=["bash", "fish"])
def test_a_value_that_was_not_left_out(shell, shell_home):
    assert shell("--native=") == {"full", "lines"}


@SHELLS
def test_files(shell, shell_home):
    assert {"first.tach", "second.tach"} <= shell("report", "")
    assert {"first.tach"} <= shell("convert", "-o", "f")


def test_a_shell_that_is_not_known():
    refused(run("completion", "tcsh"), "'tcsh'", "bash, zsh, fish", status=2)
    refused(run("completion"), "bash, zsh or fish", status=2)
