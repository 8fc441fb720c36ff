"""``multiarch workload patch``: tolerate, prefer or require an architecture in every pod template of manifests."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from multiarch.cli.output import Output, OutputOption
from multiarch.errors import MultiarchError
from multiarch.facts.architectures import Architecture

if TYPE_CHECKING:
    from multiarch.facts.taints import Taint
    from multiarch.manifests.selectors import LabelSelector
    from multiarch.patching.transform import SchedulingChange

_HIGHEST_WEIGHT = 100
HELP = """Tolerate, prefer or require an architecture in every pod template.

Templates of Deployments, CronJobs and all other kinds, bare pods, and templates in objects of unknown kinds. YAML gets
lines, and every other byte of it stays: comments, order, quotes. JSON is written anew where something changes, and
keeps the order of its keys and its indentation. What is done to each template is said on stderr. If one of them
can't be changed, none is.

\b
Examples:
  helm template shop ./chart | multiarch workload patch - --prefer arm64 --tolerate arm64
  multiarch workload patch examples/pods.yaml --tolerate arm64 --kind Deployment --diff
  multiarch workload patch deploy/ --require amd64 --in-place"""


class Format(StrEnum):
    """What is written."""

    MANIFEST = "manifest"
    STRATEGIC_MERGE = "strategic-merge"
    KUSTOMIZE = "kustomize"
    JSON_PATCH = "json-patch"


def patch(
    paths: Annotated[
        list[str], typer.Argument(metavar="FILE|FOLDER|-", help="Manifests, YAML or JSON; - is standard input.")
    ],
    *,
    prefer: Annotated[
        Architecture | None, typer.Option(help="Prefer nodes of this architecture; others still do.")
    ] = None,
    require: Annotated[
        Architecture | None, typer.Option(help="Require it: in every affinity term, so nothing is widened.")
    ] = None,
    tolerate: Annotated[
        Architecture | None, typer.Option(help="Tolerate the taint of this architecture's nodes.")
    ] = None,
    taint: Annotated[
        str | None, typer.Option(metavar="KEY=VALUE:EFFECT", help="That taint, where it is not the project's default.")
    ] = None,
    stack: Annotated[str | None, typer.Option(help="Take the taint from this stack.")] = None,
    weight: Annotated[int, typer.Option(min=1, max=_HIGHEST_WEIGHT, help="The preference's.")] = _HIGHEST_WEIGHT,
    kind: Annotated[list[str] | None, typer.Option(help="Only objects of this kind; may be repeated.")] = None,
    name: Annotated[list[str] | None, typer.Option(help="Only this name, * allowed; may be repeated.")] = None,
    namespace: Annotated[
        list[str] | None, typer.Option("--namespace", "-n", help="Only this namespace, * allowed; may be repeated.")
    ] = None,
    selector: Annotated[
        str, typer.Option("--selector", "-l", help="Only objects with these labels, as kubectl has it.")
    ] = "",
    in_place: Annotated[bool, typer.Option("--in-place", help="Write the files instead of printing them.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Print the difference instead.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Exit with 1 if anything would change; write nothing.")
    ] = False,
    form: Annotated[Format, typer.Option("--format", help="Print patches instead of manifests.")] = Format.MANIFEST,
    output: OutputOption = Output.TABLE,
) -> None:
    """Change manifests as :data:`HELP` says."""
    from multiarch.cli.workload import output as writing
    from multiarch.cli.workload import report
    from multiarch.manifests.templates import Selection

    modes = writing.Modes(in_place=in_place, diff=diff, check=check, output=output)
    modes.refuse_nonsense(form, paths)
    known = _taint(tolerate, taint, stack)
    change = _change(prefer, require, tolerate, weight, known)
    selection = Selection(tuple(kind or ()), tuple(name or ()), tuple(namespace or ()), _labels(selector))
    judged = report.judge(paths, change, selection, judge_only=form is not Format.MANIFEST)
    report.say_all(judged, None if tolerate else known, prefer or require)
    if form is Format.MANIFEST:
        writing.finish(judged, modes)
    else:
        writing.print_patches(judged, change, form)


def _change(
    prefer: Architecture | None, require: Architecture | None, tolerate: Architecture | None, weight: int,
    taint: Taint | None,
) -> SchedulingChange:  # fmt: skip
    """What is wanted. Raises MultiarchError for wishes that do not go together."""
    from multiarch.patching.transform import SchedulingChange

    if not (prefer or require or tolerate):
        raise MultiarchError("Nothing is asked for.", hint="Give --prefer, --require or --tolerate.")
    if prefer and require:
        raise MultiarchError("--prefer and --require exclude each other.", hint="What is required is the only choice.")
    if require and tolerate and require is not tolerate:
        raise MultiarchError(
            f"--require {require} keeps pods off the nodes that --tolerate {tolerate} lets them on.",
            hint=f"Give --tolerate {require}, or leave one out.",
        )
    if weight != _HIGHEST_WEIGHT and not prefer:
        raise MultiarchError("--weight is the preference's.", hint="Give --prefer too.")
    return SchedulingChange(
        require=require, prefer=prefer, tolerate=(taint,) if tolerate and taint else (), weight=weight
    )


def _taint(tolerate: Architecture | None, written: str | None, stack: str | None) -> Taint | None:
    """The taint that ``--tolerate`` is about, or that arm64 nodes have if nothing is said."""
    from multiarch.cli import stack_files
    from multiarch.cli.output import say
    from multiarch.facts.taints import parse_taint

    if written and stack:
        raise MultiarchError("--taint and --stack exclude each other.", hint="Both say which taint it is.")
    if written and not tolerate:
        raise MultiarchError("--taint says which taint --tolerate is about.", hint="Give --tolerate too.")
    if written:
        return parse_taint(written)
    if tolerate is Architecture.AMD64:
        raise MultiarchError("amd64 nodes have no taint of the project's.", hint="Name it with --taint.")
    if stack:
        found = stack_files.planned(stack_files.file(stack))[1].arm64_taint
        if found is None and tolerate:
            say(f"{stack} taints no arm64 nodes: there is nothing to tolerate.")
        return found
    from multiarch.stack.schema.stack import StackWords

    return parse_taint(str(StackWords.model_fields["arm64_taint"].default))


def _labels(text: str) -> LabelSelector:
    from multiarch.manifests.label_query import parse_label_query

    return parse_label_query(text)
