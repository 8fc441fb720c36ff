"""The Pulumi program: load the stack's words, plan, declare the platform, export."""

from __future__ import annotations

import atexit
import gc
from pathlib import Path

import pulumi
from pulumi.runtime.config import CONFIG

from components.iam.access import reject_creator_in_access, reject_missing_aws_cli
from components.platform import Platform, PlatformArgs
from multiarch.errors import MultiarchError, Problem, StackError, merge_warnings
from multiarch.rules import Severity
from multiarch.runs.existing_cluster import reject_conflicts
from multiarch.stack.load import load_from_engine
from multiarch.stack.plan import make_plan
from multiarch.today import get_today


def _log(problem: Problem) -> None:
    tell = {Severity.ERROR: pulumi.log.error, Severity.WARNING: pulumi.log.warn}.get(problem.mark, pulumi.log.info)
    tell(f"{problem} [{problem.rule}]")


def main() -> None:
    """Declare the current stack; a rejected one ends the run with its problems and without a traceback."""
    # What the SDKs load does not become garbage; looking for some, also at the end, takes a third of the run's time.
    gc.set_threshold(100_000)
    atexit.register(gc.freeze)
    root, stack = Path(__file__).parent, pulumi.get_stack()
    file = root / "config" / "stacks" / f"Pulumi.{stack}.yaml"
    try:
        words = load_from_engine(
            stack, CONFIG.get(), file=file if file.is_file() else None, project_file=root / "Pulumi.yaml"
        )
        plan = make_plan(words, today=get_today())
        reject_missing_aws_cli()
        reject_creator_in_access(words, plan.cluster.name)
        not_read = reject_conflicts(words, plan)
    except StackError as rejected:
        for problem in sorted(rejected.problems, key=lambda each: each.severity is Severity.ERROR):
            _log(problem)
        raise pulumi.RunError(f"{stack} is rejected: see the problems above.") from rejected
    except MultiarchError as rejected:
        raise pulumi.RunError(str(rejected)) from rejected
    for warning in merge_warnings((*plan.warnings, *not_read)):
        _log(warning)
    for name, value in Platform("platform", PlatformArgs(plan, look_ahead=True)).exports().items():
        pulumi.export(name, value)


main()
