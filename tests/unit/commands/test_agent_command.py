#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""test_agent_command.py - tachbpf agent becomes the tachbpf-agent beside it, with all words; what it
says if there is none; and completions ask the agent for its options."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

BUILD = Path(__file__).resolve().parents[3]
# As bash calls it when the user types a tab after the last word.
BASH = r"""
eval "$("$0" completion bash)"
COMP_WORDS=("$0" "$@") COMP_CWORD=$# COMPREPLY=()
_tachbpf
printf '%s\n' "${COMPREPLY[@]-}"
"""
FISH = "$TACHBPF completion fish | source; complete -C $LINE"
HELP = """Usage: tachbpf agent [OPTION...]

General:
      --config FILE           read --this YAML file
      --exclude-container TEXT
                              of this container
  -h, --help                  this text
"""


class Agent(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.top = Path(scratch.name)
        self.tachbpf = self.top / "tachbpf"
        shutil.copy(BUILD / "tachbpf", self.tachbpf)
        self.agent = self.top / "tachbpf-agent"

    def install(self, text):
        """A program in the agent's place."""
        self.agent.write_text(f"#!/bin/sh\n{text}\n")
        self.agent.chmod(0o755)

    def run_it(self, *words, program=None):
        return subprocess.run([program or self.tachbpf, *words], capture_output=True, text=True, timeout=600,
                              env={**os.environ, "PATH": f"{self.top}:{os.environ['PATH']}"})

    def test_all_words_and_the_status(self):
        self.install(r'printf "<%s>" "$@"; exit 37')
        done = self.run_it("agent", "ctl", "burst", "--rate", "999", "--help", "--", "-v", "two words", "")
        self.assertEqual(done.stdout, "<ctl><burst><--rate><999><--help><--><-v><two words><>")
        self.assertEqual((done.returncode, done.stderr), (37, ""))

    def test_help(self):
        self.install('echo "$@"')
        for words in (("agent", "--help"), ("help", "agent"), ("agent", "-h")):
            self.assertEqual(self.run_it(*words).stdout, f"{words[-1] if words[0] == 'agent' else '--help'}\n")

    def test_a_link_to_tachbpf(self):
        """The agent is beside the executable, not beside the link."""
        self.install("echo here")
        (self.top / "bin").mkdir()
        link = self.top / "bin" / "tachbpf"
        link.symlink_to(self.tachbpf)
        self.assertEqual(self.run_it("agent", program=link).stdout, "here\n")

    def test_there_is_no_agent(self):
        done = self.run_it("agent", "--check")
        self.assertEqual((done.returncode, done.stdout), (127, ""))
        self.assertRegex(done.stderr, "^tachbpf: error: .*/tachbpf-agent not found: install the "
                                      "package tachbpf-agent, .*\n$")

    def test_it_cannot_be_run(self):
        self.agent.write_text("no program")
        self.agent.chmod(0o644)
        done = self.run_it("agent")
        self.assertEqual(done.returncode, 126)
        self.assertIn("tachbpf-agent: Permission denied\n", done.stderr)

    def test_the_list_of_commands(self):
        self.assertRegex(self.run_it("--help").stdout, r"(?m)^  agent +\S")

    def bash(self, *words):
        done = subprocess.run(["bash", "-c", BASH, self.tachbpf, *words], cwd=self.top, text=True,
                              capture_output=True, timeout=600)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return set(done.stdout.split())

    def test_bash(self):
        self.install(f"[ \"$*\" = --help ] && cat <<'END'\n{HELP}END")
        self.assertEqual(self.bash("agent", "--"), {"--config", "--exclude-container", "--help"})
        self.assertEqual(self.bash("agent", ""), {"ctl"})
        self.assertEqual(self.bash("agent", "--config", "tach"), {"tachbpf", "tachbpf-agent"})
        self.assertIn("agent", self.bash("ag"))

    def test_without_an_agent_nothing_is_offered(self):
        self.assertEqual(self.bash("agent", "--"), set())

    def test_fish(self):
        if not shutil.which("fish"):
            self.skipTest("fish is not installed (make check-deps)")
        self.install(f"cat <<'END'\n{HELP}END")
        done = subprocess.run(["fish", "-c", FISH], capture_output=True, text=True, timeout=600,
                              env={**os.environ, "HOME": str(self.top), "TACHBPF": str(self.tachbpf),
                                   "PATH": f"{self.top}:{os.environ['PATH']}", "LINE": "tachbpf agent --"})
        offered = {line.split("\t")[0] for line in done.stdout.splitlines()}
        self.assertEqual(offered, {"--config", "--exclude-container", "--help"}, done)

    def test_zsh_can_read_it(self):
        """tests/e2e/files/test_completion.py types in it."""
        if not shutil.which("zsh"):
            self.skipTest("zsh is not installed (make check-deps)")
        script = self.run_it("completion", "zsh").stdout
        self.assertTrue(re.search(r"^\tagent\)$", script, re.M))
        subprocess.run(["zsh", "-n"], input=script, text=True, check=True, timeout=600)

    @unittest.skipUnless((BUILD / "tachbpf-agent").exists(), "built with AGENT=0")
    def test_the_real_one(self):
        done = subprocess.run([BUILD / "tachbpf", "agent", "--version"], capture_output=True, text=True,
                              timeout=600)
        own = subprocess.run([BUILD / "tachbpf", "--version"], capture_output=True, text=True, timeout=600)
        self.assertEqual((done.returncode, done.stdout), (0, own.stdout))


if __name__ == "__main__":
    unittest.main()
