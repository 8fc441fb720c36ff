"""``python -m sandbox cluster up|status|down``: a Kubernetes cluster with a real node of each architecture."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from typing import Annotated

import typer

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
def up(
    context: typer.Context,
    stack: Annotated[str, typer.Argument(help="Start nodes with the user data of this stack's groups.")] = "",
) -> None:
    """Start the cluster unless it runs; print its kubeconfig and what to try."""
    layout = _layout(context)
    files = None
    if stack:
        layout.require_stack(stack)
        files = layout.stacks_folder() / f"Pulumi.{stack}.yaml", layout.root / "Pulumi.yaml"
    with state.exclusive(layout, "cluster up"):
        found = lifecycle.up(layout.cluster, _say, stack=files)
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
    api = f"kubectl create deployment api --replicas 4 --image {images.BOTH}"
    return f"""
Next
  see the nodes:                kubectl get nodes -L kubernetes.io/arch -o wide
  start a few pods:             {api}
  let them onto arm64 nodes:    {api} --dry-run=client -o yaml \\
                                  | .venv/bin/multiarch workload patch --manifests - --tolerate arm64 \\
                                  | kubectl apply -f -
  what they say:                kubectl logs -l app=api --prefix
  a wrong image for arm64:      {images.BROKEN}
  what to change, and where:    .venv/bin/multiarch audit workloads --hosts-dir {found.hosts}
  stop the cluster:             make cluster-down"""
