# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""packaging/grafana/tachbpf.json as Grafana would ask it: its variables and its panels' queries."""
import json
import re

from paths import REPO

DASHBOARD = json.loads((REPO / "packaging/grafana/tachbpf.json").read_text())
RATE_INTERVAL = "10s"       # ten scrapes of services.Prometheus
LABEL_VALUES = re.compile(r"label_values\((.*), (\w+)\)")


def variables():
    """name -> (selector, label): its choices are the label's values."""
    return {v["name"]: LABEL_VALUES.fullmatch(v["query"]["query"]).groups()
            for v in DASHBOARD["templating"]["list"] if v["type"] == "query"}


def queries():
    """(name of the panel, expression)"""
    rows = ""
    for panel in DASHBOARD["panels"]:
        if panel["type"] == "row":
            rows = panel["title"]
        for target in panel.get("targets", ()):
            yield f'{rows}: {panel["title"]}', target["expr"]


def expand(expression, chosen):
    """With the value of each variable; All: as the dashboard says."""
    chosen = {**dict.fromkeys(variables(), ".*"), **chosen, "__rate_interval": RATE_INTERVAL}
    return re.sub(r"\$(\w+)", lambda m: chosen[m[1]], expression)
