"""What `multiarch review` says of a change that replaces a node group, widens a role and costs more.

The change is made in a folder of its own, and the real engine previews it. The prices are made up.
"""

from __future__ import annotations

import difflib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, time
from decimal import Decimal
from pathlib import Path

from multiarch.errors import OutsideError
from multiarch.facts.instance_types import list_instance_types
from multiarch.nodes.model import NodeGroupKind
from multiarch.prices.file import write_prices
from multiarch.prices.model import PriceList, RegionPrices
from multiarch.stack.model import Plan
from multiarch.today import get_today
from sandbox import environment, project, server, state
from sandbox.commands import run_multiarch
from sandbox.layout import Layout, SandboxUsageError
from sandbox.lifecycle import Sandbox

Say = Callable[[str], None]
PRICES = "made-up-prices.json"
_ROLE = Path("components", "iam", "node_role.py")
_POLICY = "AmazonS3FullAccess"
_PREVIEW = "preview.events"


def show(sandbox: Sandbox, stack: str, say: Say, show: Say) -> None:
    """Bring a stack up in the sandbox, preview a change of it, and show its review. A sandbox that ran before stays.

    Raises what :meth:`Sandbox.up` raises, SandboxUsageError for a stack without a managed group whose instance type has
    one of twice the size, and OutsideError if the preview or the review failed.
    """
    layout = sandbox.layout
    file = layout.stacks_folder() / f"Pulumi.{stack}.yaml"
    old, new = _types(layout.plan(stack))
    ran = layout.folder.is_dir() and server.find_running(layout) is not None
    folder = layout.folder / "review-demo"
    try:
        sandbox.up(stack)
        shutil.rmtree(folder, ignore_errors=True)
        project.make_variant(layout, folder, stack, {_ROLE.parts[0]})
        say("a change: a larger instance type, and a policy that a component attaches to the nodes' role")
        stack_file = folder / file.relative_to(layout.root)
        show("\n".join(_rewrite(stack_file, file, old, new)))
        anchor = '    "AmazonSSMManagedInstanceCore",\n'
        show("\n".join(_rewrite(folder / _ROLE, layout.root / _ROLE, anchor, f'{anchor}    "{_POLICY}",\n')))
        say("pulumi preview, by the real engine")
        _preview(layout, folder, stack)
        say(f"{PRICES}: an hour of 2 GiB of memory costs USD 0.01 there, whatever the type")
        write_prices(folder / PRICES, _made_up_prices(layout.region(stack)))
        arguments = ["review", _PREVIEW, "--before", str(layout.root), "--prices", PRICES, "--cost-threshold", "20"]
        run_multiarch(arguments, folder, show)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if not ran:
            sandbox.down(force=True)


def _types(plan: Plan) -> tuple[str, str]:
    """Return the first instance type of a managed group, arm64 if there is one, and the one of twice its size."""
    managed = [group for group in plan.node_groups if group.kind is NodeGroupKind.MANAGED]
    for group in sorted(managed, key=lambda group: group.architecture, reverse=True):
        old = group.instance_types[0]
        for new in list_instance_types().values():
            if (new.family, new.vcpus, new.memory_mib) == (old.family, 2 * old.vcpus, 2 * old.memory_mib):
                return old.name, new.name
    raise SandboxUsageError(f"{plan.cluster.name} has no managed group to enlarge.", hint="Try STACK=checkout-dev.")


def _rewrite(file: Path, original: Path, old: str, new: str) -> Iterator[str]:
    """Change a file; the lines of the difference."""
    before = original.read_text(encoding="utf-8")
    after = before.replace(old, new)
    if after == before:
        raise SandboxUsageError(f"{original} has no {old.strip()}.", hint="Try STACK=checkout-dev.")
    file.write_text(after, encoding="utf-8")
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "after", lineterm="", n=0)
    yield f"--- {original.name}"
    yield from (line for line in lines if not line.startswith(("---", "+++", "@@")))


def _preview(layout: Layout, folder: Path, stack: str) -> None:
    known = state.load(layout)
    if known.engine is None or known.server is None:
        raise OutsideError("The sandbox is not up.")
    environ = environment.build(layout, known.engine, known.server.url, stack, os.environ).applied_to(os.environ)
    environ["PULUMI_DEBUG_COMMANDS"] = "true"  # allows --event-log
    command = [str(known.engine.path), "preview", "--event-log", _PREVIEW, "--stack", stack, "--non-interactive"]
    done = subprocess.run(
        command, cwd=folder, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode:
        raise OutsideError(f"pulumi preview failed: {done.stdout[-2000:]}")


def _made_up_prices(region: str) -> PriceList:
    """Return prices in proportion to the memory: nobody pays these."""
    per_hour = {name: Decimal(each.memory_mib) / 2048 / 100 for name, each in list_instance_types().items()}
    fetched = datetime.combine(get_today(), time(), UTC)
    prices = RegionPrices(region, "USD", fetched, per_hour, with_spot=False, cluster=Decimal("0.1"))
    return PriceList(PRICES, {region: prices})
