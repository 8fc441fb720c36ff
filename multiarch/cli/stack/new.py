"""``multiarch stack new``: a commented stack file that is valid as written."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from multiarch.cli.options.project import get_chosen_project
from multiarch.cli.terminal import print_message, show_problems
from multiarch.errors import MultiarchError, Problem, StackError
from multiarch.facts.partitions import explain_unknown_region
from multiarch.files import write_atomically
from multiarch.rules import Severity
from multiarch.runs.stacks import find_root
from multiarch.stack.load import STACKS_FOLDER, load_file, name_fault
from multiarch.stack.new_file import write_stack
from multiarch.stack.plan import make_plan
from multiarch.stack.yaml_source import format_path
from multiarch.today import get_today

_DEFAULT_REGION = "eu-west-1"
HELP = """Write a stack file with an amd64 and an arm64 node group.

The file is config/stacks/Pulumi.TEAM-ENV.yaml; it is valid and commented.

\b
Examples:
  multiarch stack new --team search --env dev
  multiarch stack new --team search --env prod --owner search@example.com
  multiarch stack new --team search --env prod --public-cidr "$(curl -s https://checkip.amazonaws.com)/32"

Nothing is written if `multiarch stack check` would reject the file.

Exit code: 0; 2 if the file exists or an option is invalid."""
_OPTIONS = {
    "apiEndpoint": "--public-cidr",
    "aws:region": "--region",
    "costCenter": "--cost-center",
    "environment": "--env",
    "owner": "--owner",
    "team": "--team",
}
"""The option that a key of the new file is written from."""


def new(
    *,
    team: Annotated[str, typer.Option(metavar="NAME", help="The team, the first part of the stack's name.")],
    env: Annotated[str, typer.Option(metavar="NAME", help="The environment, the second part: dev, prod.")],
    region: Annotated[str, typer.Option(metavar="REGION", help="The AWS region.")] = _DEFAULT_REGION,
    owner: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The contact: a mail address or a group. Default: the team.")
    ] = None,
    cost_center: Annotated[str | None, typer.Option(metavar="TEXT", help="The cost center. Default: the team.")] = None,
    public_cidr: Annotated[
        list[str] | None,
        typer.Option(metavar="CIDR", help="Allow this CIDR block to reach the Kubernetes API; may be repeated."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write a stack file, as :data:`HELP` says."""
    owner, cost_center = team if owner is None else owner, team if cost_center is None else cost_center
    for option, value, fault in (
        ("--team", team, name_fault(team)),
        ("--env", env, name_fault(env)),
        ("--region", region, explain_unknown_region(region)),
        ("--owner", json.dumps(owner), _text_fault(owner)),
        ("--cost-center", json.dumps(cost_center), _text_fault(cost_center)),
        *(("--public-cidr", json.dumps(each), _text_fault(each)) for each in public_cidr or ()),
    ):
        if fault:
            raise MultiarchError(f"{option} {value}: {fault}")
    path = find_root(get_chosen_project()) / STACKS_FOLDER / f"Pulumi.{team}-{env}.yaml"
    if os.path.lexists(path) and not force:  # also a link to nowhere, which may lead out of the clone
        raise MultiarchError(f"{format_path(path)} already exists.", hint="--force replaces it.")
    text = write_stack(team, env, region=region, owner=owner, cost_center=cost_center, cidrs=public_cidr or [])
    warnings = _checked(text, path)
    write_atomically(path, text)
    typer.echo(format_path(path))
    show_problems(warnings)
    print_message(
        f"Next: edit it, then run `multiarch stack check {team}-{env}` and `multiarch stack render {team}-{env}`."
    )
    print_message(f"Before the first deployment, `multiarch stack pin {team}-{env}` pins images and add-on versions.")


def _text_fault(value: str) -> str | None:
    """Say why a string can't be a value of the file; ``None`` if it can."""
    if not value.strip():
        return "Give it a value, or omit the option."
    if not value.isprintable():
        return "Use printable characters only."
    return None


def _checked(text: str, path: Path) -> list[Problem]:
    """Check what is to be written as `stack check` does, and return the warnings about options.

    Raises StackError with the problems; one of a value that an option gave names the option.
    """
    try:
        plan = make_plan(load_file(path, text=text), today=get_today())
    except StackError as error:
        errors = [problem for problem in error.problems if problem.severity is Severity.ERROR]
        raise StackError(list(_by_option(errors))) from error
    return [problem for problem in _by_option(plan.warnings) if problem.file is None]


def _by_option(problems: Iterable[Problem]) -> Iterator[Problem]:
    for problem in problems:
        key = (problem.key or "").partition(".")[0].partition("[")[0]
        yield replace(problem, file=None, line=None, key=_OPTIONS[key]) if key in _OPTIONS else problem
