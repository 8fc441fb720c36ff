"""``python -m sandbox cluster up|status|down``: a Kubernetes cluster with a real node of each architecture."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable

import typer

from multiarch.facts.architectures import Architecture
from sandbox import state
from sandbox.cluster import images, lifecycle
from sandbox.layout import Layout

app = typer.Typer(
    help="A Kubernetes cluster on this machine with a real node of each architecture. Needs root, and Linux.",
    no_args_is_help=True,
)
Say = Callable[[str], None]


def _say(text: str) -> None:
    print(f"sandbox: {text}", file=sys.stderr, flush=True)


def _layout(context: typer.Context) -> Layout:
    layout = getattr(context.obj, "layout", None)
    if not isinstance(layout, Layout):
        raise TypeError(type(context.obj))
    return layout


@app.command()
def up(context: typer.Context) -> None:
    """Start the cluster unless it runs; print its kubeconfig and what to try."""
    layout = _layout(context)
    with state.exclusive(layout, "cluster up"):
        found = lifecycle.up(layout.cluster, _say)
    _print(found)
    print(_next(found))


@app.command()
def status(context: typer.Context) -> None:
    """Say whether the cluster runs, and which nodes it has."""
    found = lifecycle.status(_layout(context).cluster)
    if found is None:
        print("no cluster; `make cluster` starts one")
        return
    _print(found)


@app.command()
def down(context: typer.Context) -> None:
    """Stop the cluster and remove everything of it: processes, mounts, control groups, the binfmt_misc entry, files."""
    layout = _layout(context)
    if not layout.folder.is_dir():
        _say("no cluster, nothing is left")
        return
    with state.exclusive(layout, "cluster down"):
        there = lifecycle.down(layout.cluster)
        if set(layout.folder.iterdir()) == {layout.lock}:
            shutil.rmtree(layout.folder)
    _say("the cluster is gone, nothing is left" if there else "no cluster, nothing is left")


def _print(found: lifecycle.Status) -> None:
    print(f"Kubernetes {found.kubernetes}, ready in {found.seconds} s")
    for name, architecture in found.nodes.items():
        print(f"  {name}: {architecture}")
    if found.missing:
        print(f"no emulated node: {found.missing}")
    print(f"export KUBECONFIG={found.kubeconfig}")


def _next(found: lifecycle.Status) -> str:
    arm64 = next((name for name, architecture in found.nodes.items() if architecture == Architecture.ARM64), "")
    tolerated = '{"spec": {"tolerations": [{"key": "arch", "operator": "Exists"}]}}'
    lines = [
        "",
        "Next",
        "  see the nodes:                kubectl get nodes -L kubernetes.io/arch -o wide",
        f"  an image for both:            kubectl create deployment api --replicas 4 --image {images.BOTH}",
        f"  an image for amd64 only:      kubectl create deployment ledger --replicas 4 --image {images.ONLY_AMD64}",
        f"  one that no node can run:     kubectl run batch --image {images.FOREIGN}",
        "  what it says about itself:    kubectl logs -l app=api --prefix",
        f"  which images fit which nodes: multiarch audit workloads --hosts-dir {found.hosts}",
        "  stop it:                      make cluster-down",
    ]
    if arm64:
        lines.insert(3, f"  let pods onto the arm64 node: add to a pod {tolerated}")
    return "\n".join(lines)
