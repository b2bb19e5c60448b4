# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""packaging/kubernetes, as kubectl makes it, by Kubernetes' own schemas: no field is wrong or unknown."""
import json
import os
import shutil
import subprocess
import sys

import pytest
import yaml

import recipes
from interp import cache
from paths import REPO

TOP = REPO / "packaging/kubernetes"
OLD, NEW = ("1.28", "1.29"), ("1.30", "1.31", "1.32", "1.33", "1.34")


# In a process of its own: pytest has imported this system's attr, which may be too old for it.
VALIDATE = """import json, sys, kubernetes_validate
for document in json.load(sys.stdin):
    kubernetes_validate.validate(document, sys.argv[1], strict=True)
"""


@pytest.fixture(scope="module")
def validate(absent):
    """Fails if a document is not valid in this version of Kubernetes."""
    try:
        where = recipes.path_of(recipes.Schemas())
    except (cache.Failed, OSError) as error:
        absent(f"{recipes.SCHEMAS} cannot be had: {error}")

    def run(documents, version):
        done = subprocess.run([sys.executable, "-B", "-c", VALIDATE, version], input=json.dumps(list(documents)),
                              env=os.environ | {"PYTHONPATH": str(where)}, capture_output=True, text=True, timeout=120,
                              check=False)
        assert done.returncode == 0, done.stderr
    return run


def made(tmp_path, *components, base="base"):
    """What `kubectl kustomize` makes of it."""
    if not shutil.which("kubectl"):
        pytest.skip("kubectl is not installed")
    shutil.copytree(TOP, tmp_path, dirs_exist_ok=True)
    top = tmp_path / "mine"
    top.mkdir()
    (top / "kustomization.yaml").write_text(yaml.safe_dump({
        "resources": [f"../{base}"], "components": [f"../{c}" for c in components]}))
    done = subprocess.run(["kubectl", "kustomize", top], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return {d["kind"]: d for d in yaml.safe_load_all(done.stdout)}


def plain():
    return {d["kind"]: d for d in yaml.safe_load_all((TOP / "base/tachbpf-agent.yaml").read_text())}


@pytest.mark.parametrize("version", NEW)
def test_the_file_alone(validate, version):
    validate(plain().values(), version)


@pytest.mark.parametrize("version", OLD + NEW)
def test_with_the_component_for_old_clusters(validate, tmp_path, version):
    documents = made(tmp_path, "before-1.30")
    validate(documents.values(), version)
    pod = documents["DaemonSet"]["spec"]["template"]
    assert pod["metadata"]["annotations"]["container.apparmor.security.beta.kubernetes.io/agent"] == "unconfined"


def test_old_clusters_need_it(validate):
    with pytest.raises(AssertionError, match="ValidationError"):
        validate([plain()["DaemonSet"]], OLD[-1])


def test_the_base_is_the_file(tmp_path):
    assert made(tmp_path) == plain()


def test_the_example(validate, tmp_path):
    """Image, endpoint, labels, resources and tolerations are the copy's; the rest is the base's."""
    documents = made(tmp_path, base="example")
    pod = documents["DaemonSet"]["spec"]["template"]["spec"]
    container, = pod["containers"]
    assert container["image"] == "registry.example/tachbpf-agent:0.1.0"
    assert container["resources"]["limits"] == {"memory": "1Gi"}
    assert [t["key"] for t in pod["tolerations"]] == ["node-role.kubernetes.io/control-plane"]
    config = yaml.safe_load(documents["ConfigMap"]["data"]["agent.yaml"])
    assert config["labels"]["k8s.cluster.name"] == "example"
    base = plain()["DaemonSet"]["spec"]["template"]["spec"]["containers"][0]
    assert container["securityContext"] == base["securityContext"]
    monitor = documents.pop("PodMonitor")["spec"]
    assert monitor["podMetricsEndpoints"][0]["port"] == container["ports"][0]["name"]
    labels = documents["DaemonSet"]["spec"]["template"]["metadata"]["labels"]
    assert monitor["selector"]["matchLabels"].items() <= labels.items()
    for version in NEW:
        validate(documents.values(), version)
