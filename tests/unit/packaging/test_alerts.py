#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""test_alerts.py - packaging/prometheus/alerts.yml: each alert fires when it should, with its text, and at no other time.

promtool evaluates the rules on series of one value a minute.
"""
import json
import re
import shutil
import subprocess
import tempfile
import unittest
from dataclasses import dataclass
from pathlib import Path

ALERTS = Path("packaging/prometheus/alerts.yml").resolve()
METRICS = Path("docs/agent-metrics.md").resolve()
has_promtool = unittest.skipUnless(shutil.which("promtool"), "promtool (package prometheus) is not installed")
MINUTES = 300       # that each series lasts
AGENT = {"job": "tachbpf-agent", "instance": "h1"}
SERVICE = {"instance": "h1", "service": "api"}
LAG = "tachbpf_python_asyncio_lag_seconds"


@dataclass
class Alert:
    """fires, quiet: [{series: values, as promtool writes them}]. It fires `after` so many minutes, not up to `not_before`."""
    fires: list
    quiet: list
    labels: dict
    summary: str
    after: int
    not_before: int = 0


def series(name, **labels):
    return name + "{" + ",".join(f'{k}="{v}"' for k, v in labels.items()) + "}"


def of_agent(name, **labels):
    return series("tachbpf_agent_" + name, **AGENT, **labels)


def of_service(name, **labels):
    return series("tachbpf_python_" + name, **AGENT, service="api", **labels)


def steady(value):
    return f"{value}x{MINUTES}"


def rising(step):
    return f"0+{step}x{MINUTES}"


UP = series("up", **AGENT)
DROPPED = of_agent("exporter_dropped_requests_total", exporter="otlp", cause="spool_full")
OLDEST = of_agent("exporter_oldest_age_seconds", exporter="otlp")
RELOADED = of_agent("config_last_reload_successful")
SPOOL, SPOOL_LIMIT = of_agent("spool_bytes"), of_agent("spool_limit_bytes")
LOST, SAMPLES = of_agent("lost_total", cause="ring_full"), of_agent("samples_total")
COST, BUDGET = of_agent("cost_cpu_ratio"), of_agent("budget_cpu_ratio")
RATE, WANTED = of_agent("rate_hertz"), of_agent("rate_configured_hertz")
HOURS, RUN = series("tachbpf_parquet_hours_waiting", **AGENT), series("tachbpf_parquet_last_run_timestamp_seconds", **AGENT)
HELD, PROCESSES = of_service("gil_held_seconds_total", state="on_cpu"), of_service("processes", python="3.13")
LATE, OTHERS_LATE = of_service("asyncio_lag_seconds"), series(LAG, **AGENT, service="worker")
STARTS = of_service("starts_total")

CASES = {
    "TachbpfAgentDown": Alert(
        [{UP: steady(0)}], [{UP: steady(1)}, {UP: f"1x10 0x3 1x{MINUTES}"}], AGENT, "tachbpf agent on h1 is down", 6, 4),
    "TachbpfAgentDrops": Alert(
        [{DROPPED: f"0x5 1x{MINUTES}"}], [{DROPPED: steady(7)}], {"instance": "h1", "exporter": "otlp", "cause": "spool_full"},
        "profiles from h1 to otlp are being lost: spool_full", 8, 5),
    "TachbpfAgentSpoolNearlyFull": Alert(
        [{SPOOL: steady(90), SPOOL_LIMIT: steady(100)}],
        [{SPOOL: steady(80), SPOOL_LIMIT: steady(100)}, {SPOOL: steady(90), SPOOL_LIMIT: steady(0)}], AGENT,
        "the spool of h1 is 90% full: the oldest profiles are removed next", 11, 9),
    "TachbpfAgentCannotSend": Alert(
        [{OLDEST: steady(700)}], [{OLDEST: steady(600)}], {**AGENT, "exporter": "otlp"},
        "otlp has accepted nothing from h1 for 11m 40s", 6, 4),
    "TachbpfAgentBadConfiguration": Alert(
        [{RELOADED: steady(0)}], [{RELOADED: steady(1)}], AGENT,
        "the configuration of tachbpf agent on h1 is invalid; the previous one remains in force", 1),
    "TachbpfAgentLosesSamples": Alert(
        [{LOST: rising(2), SAMPLES: rising(98)}], [{LOST: rising(1), SAMPLES: rising(99)}, {LOST: steady(0), SAMPLES: steady(0)}],
        {"instance": "h1"}, "tachbpf agent on h1 loses 2% of its samples", 17, 15),
    "TachbpfAgentOverBudget": Alert(
        [{COST: steady(0.03), BUDGET: steady(0.01)}],
        [{COST: steady(0.02), BUDGET: steady(0.01)}, {COST: steady(1), BUDGET: steady(0)}], AGENT,
        "tachbpf agent on h1 uses twice its budget of CPU time", 31, 29),
    "TachbpfAgentRateLowered": Alert(
        [{RATE: steady(9), WANTED: steady(19)}], [{RATE: steady(9.5), WANTED: steady(19)}], AGENT,
        "tachbpf agent on h1 samples at only 9 Hz to stay within its budget", 61, 59),
    "TachbpfParquetWaits": Alert(
        [{HOURS: steady(3)}, {RUN: steady(0)}], [{HOURS: steady(2), RUN: rising(60)}], AGENT,
        "tachbpf-parquet on h1 fails or does not run: profiles do not reach the warehouse", 3 * 60 + 1),
    "PythonGilSaturated": Alert(
        [{HELD: rising(57), PROCESSES: steady(1)}],
        [{HELD: rising(54), PROCESSES: steady(1)}, {HELD: rising(57), PROCESSES: steady(2)},
         {HELD: steady(9), PROCESSES: steady(0)}], SERVICE,
        "the GIL of api on h1 is held 95% of the time: more threads do not help, processes do", 27, 22),
    "PythonEventLoopBlocked": Alert(
        [{LATE: steady(2), OTHERS_LATE: steady(0)}, {LATE: f"0x20 2x{MINUTES}"}],
        [{LATE: steady(1)}, {LATE: f"0x20 60x3 0x{MINUTES}"}, {LATE: "2x4 " + "0 2 2 2 2 " * (MINUTES // 5)}], SERVICE,
        "an event loop of api on h1 was blocked for 2s: something in it waits or computes without await", 26, 4),
    "PythonStartsAgainAndAgain": Alert(
        [{STARTS: rising(3)}], [{STARTS: rising(2)}, {STARTS: f"0x20 30x{MINUTES}"}], SERVICE,
        "api on h1 has started 30 times in ten minutes", 21, 10),
}


def expect(name, inputs, alerts):
    """alerts: {minute: those that fire then}."""
    return {"interval": "1m", "input_series": [{"series": s, "values": v} for s, v in inputs.items()],
            "alert_rule_test": [{"eval_time": f"{minute}m", "alertname": name, "exp_alerts": fired}
                                for minute, fired in alerts.items()]}


def tests_of(name, alert, severity):
    """It fires in time; not before; and no other input makes it fire, at any time."""
    fired = {"exp_labels": {**alert.labels, "severity": severity}, "exp_annotations": {"summary": alert.summary}}
    for inputs in alert.fires:
        yield expect(name, inputs, {alert.after: [fired]})
    yield expect(name, alert.fires[0], {minute: [] for minute in range(alert.not_before + 1)} if alert.not_before else {})
    for inputs in alert.quiet:
        yield expect(name, inputs, {minute: [] for minute in range(0, MINUTES, 3)})


class Alerts(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.top = Path(scratch.name)

    def promtool(self, *words):
        return subprocess.run(["promtool", *words], capture_output=True, text=True, cwd=self.top)

    def check(self, tests):
        path = self.top / "tests.json"      # JSON is YAML
        path.write_text(json.dumps({"rule_files": [str(ALERTS)], "evaluation_interval": "1m", "tests": tests}))
        return self.promtool("test", "rules", path)

    @has_promtool
    def test_each_fires_and_only_then(self):
        severities = dict(re.findall(r"- alert: (\w+)\n.*?severity: (\w+)", ALERTS.read_text(), re.S))
        self.assertEqual(list(severities), list(CASES))
        for name, alert in CASES.items():
            with self.subTest(name):
                done = self.check(list(tests_of(name, alert, severities[name])))
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    @has_promtool
    def test_what_is_wrong_is_found(self):
        """An alert that should fire and does not, and one that should not."""
        alert = CASES["PythonEventLoopBlocked"]
        fired = {"exp_labels": {**alert.labels, "severity": "info"}, "exp_annotations": {"summary": alert.summary}}
        for inputs, alerts in ((alert.quiet[0], [fired]), (alert.fires[0], [])):
            done = self.check([expect("PythonEventLoopBlocked", inputs, {alert.after: alerts})])
            self.assertNotEqual(done.returncode, 0, done.stdout)

    @has_promtool
    def test_the_pages_queries(self):
        """Those in the table of docs/agent-metrics.md are PromQL."""
        table = METRICS.read_text().split("| question | PromQL |")[1].split("\n\n")[0]
        queries = [q.replace("\\|", "|") for q in re.findall(r"(?m)^\| .* \| `([^`]*)`.*\|$", table)]
        self.assertEqual(len(queries), len(table.splitlines()) - 2)
        path = self.top / "rules.json"
        path.write_text(json.dumps({"groups": [{"name": "q", "rules": [
            {"record": f"q:{i}", "expr": query} for i, query in enumerate(queries)]}]}))
        done = self.promtool("check", "rules", path)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertTrue(any(LAG in query for query in queries))


if __name__ == "__main__":
    unittest.main()
