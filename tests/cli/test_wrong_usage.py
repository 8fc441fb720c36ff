"""What makes no sense, or can't be read, is one line with exit code 2; nothing is written."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import CLONE
from tests.cli.running import type_of_run

FILES = {
    "pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: one}\nspec: {containers: [{name: a, image: b}]}\n",
    "agents.yaml": "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: a}\nspec: {template: {spec: {}}}\n",
    "nodes.yaml": "apiVersion: v1\nkind: Node\nmetadata: {name: a}\n",
    "values.yaml": "replicas: 3\n",
    "images.txt": "busybox:1\n",
}
PRICES = f"--prices {CLONE / 'examples' / 'prices.json'}"
PATCH = "workload patch pod.yaml"
ROWS = [
    ("audit daemonsets checkout-dev", "is a stack, not a file with manifests. Write --stack checkout-dev."),
    ("audit workloads checkout-dev", "is a stack, not a file with manifests. Write --stack checkout-dev."),
    ("workload patch checkout-dev --tolerate arm64", "is a stack, not a file with manifests. Write --stack checkout"),
    ("audit daemonsets agents.yaml", "The manifests have DaemonSets and no Nodes. Give --stack NAME"),
    ("audit daemonsets --stack checkout-dev nodes.yaml", "nodes.yaml: no DaemonSets found."),
    ("audit daemonsets --stack nobody-dev", "There is no stack nobody-dev"),
    ("audit daemonsets --stack checkout-dev --architecture-taint arch=arm64", "'arch=arm64' has no effect. Write"),
    ("audit daemonsets", "no-kubeconfig"),
    ("audit images --manifests a.yaml --live", "--manifests and --live are mutually exclusive"),
    ("audit images a.yaml --context here", "--context can't be combined with --manifests. --manifests FILE"),
    ("audit images a.yaml --images list", "--images can't be combined with --manifests or a cluster"),
    ("audit images --images list --namespace shop", "--images can't be combined with --manifests or a cluster"),
    ("audit images missing.yaml", "missing.yaml can't be read"),
    ("audit images --images missing", "missing can't be read"),
    ("audit images a.yaml --group-by team=", "--group-by 'team=' is not a label's key."),
    ("audit images --images images.txt --group-by team", "a list of images has none"),
    ("audit images a.yaml --insecure-registry http://here:5000", "'http://here:5000' is not HOST or HOST:PORT"),
    ("audit workloads a.yaml --taint true", "Write KEY=VALUE:EFFECT, such as arch=arm64:NoSchedule."),
    ("audit workloads a.yaml --taint a:NoSchedule --stack payments-prod", "mutually exclusive"),
    ("audit workloads a.yaml --force", "--force needs --patch DIR"),
    ("audit workloads a.yaml --patch Pulumi.yaml", "Pulumi.yaml is not a folder"),
    ("audit workloads a.yaml --patch config", "config is not empty"),
    ("audit workloads a.yaml --patch config --force", "config has stack.schema.json"),
    ("capacity checkout-dev --manifests pod.yaml --failure zone=z", "There is no zone 'z'."),
    ("capacity checkout-dev --manifests pod.yaml --minimum 101%", "must be a number of pods, or a percentage"),
    ("capacity checkout-dev --manifests pod.yaml --write", "--write needs --recommend."),
    ("cost checkout-dev", "There is no price file prices.json. Fetch it: `multiarch prices fetch"),
    (f"cost --manifests a.yaml {PRICES}", "--manifests needs one stack. Name it: checkout-dev, gke-parity, "),
    (f"cost checkout-dev --group-by team {PRICES}", "--group-by needs --manifests or --live."),
    ("image inspect busybox --raw -o json", "are mutually exclusive"),
    ("report --html page.html", "Give either STACK or --cluster NAME."),
    ("report payments-prod --html page.html --prices nothing.json", "nothing.json"),
    ("report payments-prod --html page.html --manifests values.yaml", "values.yaml"),
    ("report payments-prod --html -", "- can't be written: this output goes to a file. Give the file's name."),
    ("simulate payments-prod", "No workloads are given. --manifests FILE reads manifests, --live reads a cluster."),
    ("simulate payments-prod --manifests a.yaml --live", "--manifests and --live are mutually exclusive."),
    ("simulate payments-prod --manifests a.yaml --context a -n b", "--context, --namespace can't be combined with"),
    ("verify nodes", "Which nodes? Give a STACK, or --cluster NAME."),
    ("verify nodes checkout-dev --cluster shop", "STACK and --cluster are mutually exclusive."),
    ("verify nodes --cluster shop --fix-taints", "--fix-taints needs a STACK."),
    ("verify nodes checkout-dev --yes", "--yes and --dry-run belong to --fix-taints."),
    ("verify pods nodes.yaml", "no Pods found. It reads the status of live Pods: kubectl get pods"),
    ("verify pods - --region eu-west-1", "--region and --profile are only used with --on-node."),
    (PATCH, "No change is given. Add --prefer, --require, --tolerate or --spread-zones."),
    (f"{PATCH} --prefer arm64 --require arm64", "--prefer and --require are mutually exclusive."),
    (f"{PATCH} --require amd64 --tolerate arm64", "excludes the nodes that --tolerate arm64 allows."),
    (f"{PATCH} --require amd64 --weight 3", "--weight needs --prefer."),
    (f"{PATCH} --prefer arm64 --taint a:NoSchedule", "--taint needs --tolerate."),
    (f"{PATCH} --tolerate amd64", "amd64 nodes have no default taint."),
    (f"{PATCH} --tolerate arm64 --name gone", "No pod template is selected."),
    (f"{PATCH} --tolerate arm64 -l =a", "'=a' is not a label selector."),
    (f"{PATCH} --tolerate arm64 --in-place --diff", "--in-place and --diff are mutually exclusive."),
    (f"{PATCH} --tolerate arm64 --format kustomize --check", "--format kustomize prints patches."),
    (f"{PATCH} --tolerate arm64 -o json", "--output json prints a report instead of the manifests."),
    ("workload patch - --tolerate arm64 --in-place", "Standard input can't be written in place."),
    ("workload patch gone.yaml --tolerate arm64", "gone.yaml does not exist."),
    ("workload patch empty --tolerate arm64", "empty contains no manifests."),
    ("workload patch values.yaml --tolerate arm64", "values.yaml has no Kubernetes objects."),
    ("workload patch latin.yaml --tolerate arm64", "latin.yaml can't be read: 'utf-8' codec"),
]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project's configuration and some files, which no command changes."""
    folder = tmp_path_factory.mktemp("clone")
    shutil.copy(CLONE / "Pulumi.yaml", folder)
    shutil.copytree(CLONE / "config", folder / "config")
    (folder / "empty").mkdir()
    (folder / "latin.yaml").write_bytes("kind: é\n".encode("latin-1"))
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(("command", "says"), ROWS, ids=[command for command, _ in ROWS])
def test_wrong_usage_is_one_line_and_code_2(
    world: Path, run: type_of_run, monkeypatch: pytest.MonkeyPatch, command: str, says: str
) -> None:
    monkeypatch.chdir(world)
    before = sorted(world.iterdir())
    ran = run(*shlex.split(command))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: ")
    assert says in ran.err
    assert ran.err.count("\n") == 1
    assert sorted(world.iterdir()) == before
