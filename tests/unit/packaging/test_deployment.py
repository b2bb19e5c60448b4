#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""test_deployment.py - packaging/ for the agent: its unit, its DaemonSet, its image, and what stands
beside it (Collector, Prometheus, Grafana) parse, fit each other and fit the agent."""
import json
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

try:
    import yaml
except ImportError:
    yaml = None

BUILD = Path(__file__).resolve().parents[3]
AGENT = BUILD / "tachbpf-agent"
PACKAGING = Path("packaging").resolve()
UNIT = PACKAGING / "tachbpf-agent.service"
KUBERNETES = PACKAGING / "kubernetes/base/tachbpf-agent.yaml"
METRICS = Path("docs/agent-metrics.md").resolve()
DASHBOARD = PACKAGING / "grafana/tachbpf.json"
ALERTS = PACKAGING / "prometheus/alerts.yml"
HOURLY = PACKAGING / "warehouse/hourly.sh"      # has metrics of its own
METRIC = re.compile(r"\btachbpf_[a-z_]+")
has_agent = unittest.skipUnless(AGENT.exists(), "built with AGENT=0")
has_yaml = unittest.skipUnless(yaml, "python3-yaml is not installed (make check-deps)")
has_promtool = unittest.skipUnless(shutil.which("promtool"), "promtool (package prometheus) is not installed")


def documents(path):
    return list(yaml.safe_load_all(path.read_text()))


def of_kind(kind):
    found, = [d for d in documents(KUBERNETES) if d["kind"] == kind]
    return found


def default_port():
    text = subprocess.run([AGENT, "--help"], check=True, capture_output=True, text=True).stdout
    return int(re.search(r"default:\s+127\.0\.0\.1:(\d+)", text)[1])


class Scratch(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.top = Path(scratch.name)

    def accepted(self, text):
        """By the agent's --check."""
        path = self.top / "agent.yaml"
        path.write_text(text)
        path.chmod(0o644)
        done = subprocess.run([AGENT, "--config", path, "--check"], capture_output=True, text=True, env={})
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def promtool(self, *words):
        done = subprocess.run(["promtool", *words], capture_output=True, text=True, cwd=self.top)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Configuration(Scratch):
    @has_agent
    def test_the_packages_configuration(self):
        """As it is, and with all that is commented out in it."""
        text = (PACKAGING / "agent.yaml").read_text()
        self.assertEqual([line for line in text.splitlines() if line and line[0] != "#"], [])
        self.accepted(text)
        lines = [line[1:] for line in text.splitlines() if re.match(r"#[a-z -]*[a-z_.]+:|#- ", line)]
        self.assertEqual(len(lines), len(re.findall(r"(?m)^#(?![ #]|$)|^#  +[a-z]", text)) - 1)  # the command
        self.accepted("\n".join(lines))

    @has_agent
    @has_yaml
    def test_the_configmaps(self):
        data = of_kind("ConfigMap")["data"]
        self.assertEqual(set(data), {"agent.yaml"})
        self.accepted(data["agent.yaml"])


@has_yaml
class Kubernetes(unittest.TestCase):
    def setUp(self):
        self.pod = of_kind("DaemonSet")["spec"]["template"]["spec"]
        self.container, = self.pod["containers"]

    def test_every_yaml_file_parses(self):
        files = [p for end in ("yaml", "yml") for p in PACKAGING.rglob(f"*.{end}")]
        self.assertGreaterEqual(len(files), 5)
        for path in files:
            documents(path)

    def test_no_shell_is_in_between(self):
        """Signals reach the agent."""
        self.assertEqual(self.container["command"],
                         ["/usr/local/bin/tachbpf-agent", "--config", "/etc/tachbpf/agent.yaml"])
        self.assertNotIn("args", self.container)
        self.assertLess(5, self.pod["terminationGracePeriodSeconds"])

    def test_where_it_runs(self):
        self.assertEqual(self.pod["nodeSelector"], {"kubernetes.io/os": "linux"})
        self.assertIn({"operator": "Exists"}, self.pod["tolerations"])
        self.assertTrue(self.pod["hostPID"])
        self.assertIn("imagePullPolicy", self.container)

    def test_rights(self):
        """Those of the service, and no more: neither privileged nor SYS_ADMIN."""
        rights = self.container["securityContext"]
        self.assertFalse(rights["privileged"] or rights["allowPrivilegeEscalation"])
        self.assertTrue(rights["readOnlyRootFilesystem"])
        self.assertEqual(rights["capabilities"]["drop"], ["ALL"])
        bounding = set(re.search(r"^CapabilityBoundingSet=(.*)$", UNIT.read_text(), re.M)[1].split())
        added = {f"CAP_{name}" for name in rights["capabilities"]["add"]}
        self.assertLessEqual(added, bounding)
        self.assertNotIn("CAP_SYS_ADMIN", bounding)

    def test_what_it_writes_is_a_volume(self):
        mounts = {m["mountPath"]: m["name"] for m in self.container["volumeMounts"]}
        self.assertEqual(set(mounts), {"/etc/tachbpf", "/var/lib/tachbpf", "/var/cache/tachbpf", "/run/tachbpf"})
        self.assertEqual({v["name"] for v in self.pod["volumes"]}, set(mounts.values()))

    @has_agent
    def test_probes_and_metrics(self):
        port, = self.container["ports"]
        self.assertEqual(port["containerPort"], default_port())
        self.assertIn(f':{port["containerPort"]}', of_kind("ConfigMap")["data"]["agent.yaml"])
        for probe, path in (("livenessProbe", "/-/healthy"), ("readinessProbe", "/-/ready")):
            self.assertEqual(self.container[probe]["httpGet"], {"path": path, "port": port["name"]})

    def test_limits(self):
        self.assertLessEqual({"requests", "limits"}, set(self.container["resources"]))
        self.assertIn("memory", self.container["resources"]["limits"])

    def test_selectors(self):
        spec = of_kind("DaemonSet")["spec"]
        self.assertEqual(spec["selector"]["matchLabels"], spec["template"]["metadata"]["labels"])
        for kind in ("ConfigMap", "DaemonSet"):
            self.assertEqual(of_kind(kind)["metadata"]["namespace"], of_kind("Namespace")["metadata"]["name"])

    def test_the_images_version(self):
        """That of the Makefile."""
        version = re.search(r"^VERSION := (.*)$", Path("Makefile").read_text(), re.M)[1]
        self.assertEqual(self.container["image"], f"tachbpf-agent:{version}")


class Beside(Scratch):
    @has_yaml
    def test_the_collector_takes_what_the_agent_sends(self):
        config, = documents(PACKAGING / "otel-collector/config.yaml")
        http = config["receivers"]["otlp"]["protocols"]["http"]
        port = http["endpoint"].rpartition(":")[2]
        self.assertEqual(port, "4318")
        self.assertIn(f":{port}", of_kind("ConfigMap")["data"]["agent.yaml"])
        pipeline = config["service"]["pipelines"]["profiles"]
        self.assertEqual(set(pipeline["exporters"]), set(config["exporters"]))
        self.assertEqual(set(pipeline["receivers"]), set(config["receivers"]))

    @has_yaml
    @has_agent
    def test_prometheus_scrapes_the_agents_default(self):
        config, = documents(PACKAGING / "prometheus/prometheus.yml")
        targets = [t for job in config["scrape_configs"] for s in job["static_configs"] for t in s["targets"]]
        self.assertEqual(targets, [f"127.0.0.1:{default_port()}"])

    @has_promtool
    def test_promtool(self):
        self.promtool("check", "config", f"{PACKAGING}/prometheus/prometheus.yml")
        self.promtool("check", "rules", ALERTS)

    def test_the_page_has_each_alert(self):
        alerts = re.findall("- alert: (\\w+)", ALERTS.read_text())
        table = METRICS.read_text().split("## Alerts")[1].split("\n## ")[0]
        self.assertEqual(re.findall(r"(?m)^\| `(\w+)`", table), alerts)
        self.assertGreater(len(alerts), 8)

    def test_one_job(self):
        """Its name is the same in Prometheus' file, in the pods' labels and in the alerts."""
        jobs = set(re.findall(r"job_name: (\S+)|job=\"([^\"]+)\"", "".join(
            p.read_text() for p in [*(PACKAGING / "prometheus").iterdir(), METRICS])))
        self.assertEqual({a or b for a, b in jobs}, {of_kind("DaemonSet")["metadata"]["labels"]["app.kubernetes.io/name"]})

    @has_promtool
    def test_the_dashboards_queries(self):
        """As rules, with values for Grafana's variables."""
        rules = []
        for query in queries():
            query = re.sub(r"\$\w+", ".*", query.replace("$__rate_interval", "5m"))
            rules.append({"record": f"q:{len(rules)}", "expr": query})
        path = self.top / "rules.json"        # JSON is YAML
        path.write_text(json.dumps({"groups": [{"name": "q", "rules": rules}]}))
        self.promtool("check", "rules", path)

    def test_the_dashboard(self):
        """Each panel has a title, a place of its own and something to show."""
        dashboard = json.loads(DASHBOARD.read_text())
        panels = dashboard["panels"]
        self.assertEqual(len({p["id"] for p in panels}), len(panels))
        cells = [(x, y) for p in panels for x in range(p["gridPos"]["x"], p["gridPos"]["x"] + p["gridPos"]["w"])
                 for y in range(p["gridPos"]["y"], p["gridPos"]["y"] + p["gridPos"]["h"])]
        self.assertEqual(len(cells), len(set(cells)))
        self.assertTrue(all(0 <= x < 24 for x, _ in cells))
        for panel in panels:
            self.assertTrue(panel["title"])
            self.assertTrue(panel["type"] == "row" or panel["targets"])

    def test_the_dashboards_variables(self):
        """A query has those of its metrics' labels, all of them, by their names."""
        choices = json.loads(DASHBOARD.read_text())["templating"]["list"]
        names = {c["name"] for c in choices if c["type"] == "query"}
        labels = re.search(r"by default (.*?)\. Causes", METRICS.read_text(), re.S)[1]
        self.assertEqual(names, {"job", "instance", "service", *re.findall("`(.*?)`", labels)})
        for query in queries():
            for metric, matchers in re.findall(r"\b(tachbpf_\w+)\{(.*?)\}", query):
                wanted = names if metric.startswith("tachbpf_python") else {"job", "instance"}
                self.assertEqual(dict(re.findall(r'(\w+)=~"\$(\w+)"', matchers)), {n: n for n in wanted}, query)

    def test_nothing_is_divided_by_zero(self):
        """In the dashboard, the alerts and the page: 0 / 0 is NaN, which panels show and alerts do not."""
        texts = [*queries(), ALERTS.read_text(), *re.findall(r"`(.* by .*)`", METRICS.read_text())]
        divisors = [d for text in texts for d in re.findall(r"\s/ (.*)", text)]
        self.assertGreater(len(divisors), 6)
        for divisor in divisors:
            self.assertRegex(divisor, r"^\(.* > 0\)")

    def test_metrics_that_are_queried_exist(self):
        known = set(re.findall(r"(?m)^\| `(tachbpf_\w+)` \| (?:counter|gauge)", METRICS.read_text()))
        known |= set(re.findall(r"# TYPE (tachbpf_\w+) gauge", HOURLY.read_text()))
        wanted = {m for text in (*queries(), *variables(), ALERTS.read_text()) for m in METRIC.findall(text)}
        self.assertGreater(len(wanted), 20)
        self.assertEqual(wanted - known, set())


def queries():
    dashboard = json.loads(DASHBOARD.read_text())
    return [t["expr"] for p in dashboard["panels"] for t in p.get("targets", ())]


def variables():
    return [v["query"]["query"] for v in json.loads(DASHBOARD.read_text())["templating"]["list"] if v["type"] == "query"]


class Unit(Scratch):
    def test_systemd(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("systemd-analyze is not installed")
        unit = self.top / "tachbpf-agent.service"
        program = AGENT if AGENT.exists() else "/bin/true"
        text = re.sub("(?m)^Documentation=.*\n", "", UNIT.read_text())
        unit.write_text(text.replace("@PREFIX@/bin/tachbpf-agent", f"{program}"))
        done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_what_it_must_see_is_not_taken_away(self):
        """Other processes, their users, addresses of the kernel's functions."""
        text = UNIT.read_text()
        for name in ("ProtectProc", "ProcSubset", "PrivateUsers", "ProtectKernelTunables",
                     "ProtectKernelLogs", "PrivateNetwork", "DynamicUser"):
            self.assertNotRegex(text, rf"(?m)^{name}=")

    def test_the_agents_own_end(self):
        """Only the main process gets SIGTERM: it needs its workers for the last window."""
        text = UNIT.read_text()
        self.assertRegex(text, "(?m)^KillMode=mixed$")
        self.assertRegex(text, "(?m)^Type=notify$")


@has_agent
class Image(Scratch):
    def test_the_root_has_all_libraries(self):
        root = self.top / "root"
        subprocess.run(["sh", PACKAGING / "image_root.sh", BUILD, root], check=True)
        for program in ("tachbpf", "tachbpf-agent"):
            self.assertTrue((root / "usr/local/bin" / program).exists())
            needs = re.findall(r"(/\S+) \(0x", subprocess.run(
                ["ldd", BUILD / program], check=True, capture_output=True, text=True).stdout)
            self.assertIn("libc.so.6", {Path(n).name for n in needs})
            for name in needs:
                self.assertTrue((root / name.lstrip("/")).exists(), name)
        # It is loaded by name.
        for library in Path("/usr/lib").glob("*/libdebuginfod.so.1"):
            self.assertTrue((root / library.relative_to("/")).exists(), library)
        self.assertEqual([p for p in root.rglob("*") if p.name in ("sh", "bash", "busybox")], [])


if __name__ == "__main__":
    unittest.main()
