"""``multiarch workload patch``: tolerate, prefer or require an architecture in every pod template of manifests."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from multiarch.cli.formats import Format, OutputOption
from multiarch.cli.options import with_groups
from multiarch.cli.options.cluster import ManifestsArgument
from multiarch.cli.options.registry import RegistryOptions
from multiarch.cli.options.stacks import TaintOptions, reject_stacks
from multiarch.cli.terminal import print_message, show_progress
from multiarch.cli.workload.output import OutputMode, finish_files, print_patches, summarise_files
from multiarch.errors import MultiarchError
from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import Taint
from multiarch.manifests.label_query import parse_label_query
from multiarch.manifests.templates import Selection
from multiarch.patching.transform import SchedulingChange, WhenUnsatisfiable
from multiarch.runs import patches

_HIGHEST_WEIGHT = 100
HELP = """Tolerate, prefer or require an architecture in every pod template.

Edits Deployments, CronJobs and all other kinds with pod templates, bare pods, and pod templates in custom resources.
--spread-zones spreads replicas over zones. In YAML, lines are added and nothing else changes: comments, order and
quotes stay. JSON is rewritten where it changes, with its key order, indentation and numbers. Each change is listed on
stderr, and so is what keeps a pod off the nodes all the same. If one template can't be changed, none is.

\b
Examples:
  helm template shop ./chart | multiarch workload patch --manifests - --prefer arm64 --tolerate arm64
  multiarch workload patch --manifests examples/pods.yaml --tolerate arm64 --kind Deployment --diff
  multiarch workload patch --manifests deploy/ --tolerate arm64 --check-images --in-place
  multiarch workload patch --manifests deploy/ --require amd64 --in-place
  multiarch workload patch --manifests deploy/ --spread-zones ScheduleAnyway --diff

Exit code: 0; 1 if --check is given and a manifest would change; 2 for invalid input."""


@with_groups
def patch(
    paths: ManifestsArgument = None,
    *,
    manifests: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Manifests: a YAML or JSON file, a folder, or -. May be repeated."),
    ] = None,
    prefer: Annotated[
        Architecture | None, typer.Option(help="Prefer nodes of this architecture, and allow the others.")
    ] = None,
    require: Annotated[
        Architecture | None, typer.Option(help="Require this architecture, in every node affinity term.")
    ] = None,
    tolerate: Annotated[
        Architecture | None, typer.Option(help="Tolerate the taint of this architecture's nodes.")
    ] = None,
    taints: TaintOptions,
    weight: Annotated[
        int, typer.Option(metavar="N", min=1, max=_HIGHEST_WEIGHT, help="The weight of --prefer.")
    ] = _HIGHEST_WEIGHT,
    spread_zones: Annotated[
        WhenUnsatisfiable | None,
        typer.Option(
            help="Spread the replicas of each Deployment or StatefulSet over zones: as a preference, or else pending."
        ),
    ] = None,
    kind: Annotated[
        list[str] | None, typer.Option(metavar="KIND", help="Only objects of this kind; may be repeated.")
    ] = None,
    name: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this name, * allowed; may be repeated.")
    ] = None,
    namespace: Annotated[
        list[str] | None,
        typer.Option("--namespace", "-n", metavar="NAME", help="Only this namespace, * allowed; may be repeated."),
    ] = None,
    selector: Annotated[
        str, typer.Option("--selector", "-l", metavar="LABELS", help="Only objects with these labels, as in kubectl.")
    ] = "",
    in_place: Annotated[bool, typer.Option("--in-place", help="Write the files instead of printing them.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Print a diff instead of the manifests.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Exit with 1 if a manifest would change; write nothing.")
    ] = False,
    patch_format: Annotated[
        Literal["manifest", "strategic-merge", "kustomize", "json-patch"],
        typer.Option("--format", help="Print patches instead of manifests."),
    ] = "manifest",
    check_images: Annotated[
        bool, typer.Option("--check-images", help="Look up the images, and reject those without the architecture.")
    ] = False,
    output: OutputOption = Format.TABLE,
    registries: RegistryOptions,
) -> None:
    """Patch manifests, as :data:`HELP` says."""
    files = [*(manifests or ()), *(paths or ())]
    if not files:
        raise MultiarchError("No manifests are given.", hint="Add --manifests FILE.")
    reject_stacks(files)
    only_patches = patch_format != "manifest"
    mode = OutputMode(
        in_place=in_place, diff=diff, check=check, patch_format=patch_format * only_patches, output=output
    )
    mode.validate(files)
    taint = _taint(tolerate, taints)
    change = _change(prefer, require, tolerate, weight, taint, spread_zones)
    selection = Selection(tuple(kind or ()), tuple(name or ()), tuple(namespace or ()), parse_label_query(selector))
    edited = patches.edit_files(files, change, selection, judge_only=only_patches)
    if check_images:
        wanted = tuple(dict.fromkeys(each for each in (require, prefer, tolerate) if each))
        with show_progress("reading images") as step:
            edited = patches.check_images(edited, wanted, registries.access, progress=step)
    summarise_files(edited, None if tolerate else taint, prefer or require)
    if only_patches:
        print_patches(edited, change, patch_format)
    else:
        finish_files(edited, mode)


def _change(
    prefer: Architecture | None, require: Architecture | None, tolerate: Architecture | None, weight: int,
    taint: Taint | None, spread_zones: WhenUnsatisfiable | None,
) -> SchedulingChange:  # fmt: skip
    """Return the change. Raises MultiarchError for options that are mutually exclusive."""
    if not (prefer or require or tolerate or spread_zones):
        raise MultiarchError("No change is given.", hint="Add --prefer, --require, --tolerate or --spread-zones.")
    if prefer and require:
        raise MultiarchError("--prefer and --require are mutually exclusive.")
    if require and tolerate and require is not tolerate:
        raise MultiarchError(
            f"--require {require} excludes the nodes that --tolerate {tolerate} allows.",
            hint=f"Give --tolerate {require}, or omit one.",
        )
    if weight != _HIGHEST_WEIGHT and not prefer:
        raise MultiarchError("--weight needs --prefer.")
    return SchedulingChange(
        require=require,
        prefer=prefer,
        tolerate=(taint,) if tolerate and taint else (),
        weight=weight,
        tolerate_on=tolerate,
        spread_zones=spread_zones,
        only_effective=True,
    )


def _taint(tolerate: Architecture | None, options: TaintOptions) -> Taint | None:
    """Return the taint to tolerate; without ``--tolerate`` that of arm64 nodes, for notes."""
    if options.taint and not tolerate:
        raise MultiarchError("--taint needs --tolerate.")
    if tolerate is Architecture.AMD64 and not options.taint:
        raise MultiarchError("amd64 nodes have no default taint.", hint="Give --taint KEY=VALUE:EFFECT.")
    taint = options.arm64()
    if taint is None and tolerate:
        print_message(f"{options.stack}: arm64 nodes have no taint, so no toleration is needed.")
    return taint
