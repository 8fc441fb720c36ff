"""All commands in one application."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer

from multiarch import __version__
from multiarch.cli.options.project import ProjectOption
from multiarch.cli.usage import Application, Command

_Verb = tuple[str, str, str]
"""The module below ``multiarch.cli``, its function, and its help text."""


def _list_verbs(noun: str, *names: str) -> dict[str, _Verb]:
    return {name: (f"{noun}.{name}", name, "HELP") for name in names}


_NOUNS: dict[str, tuple[str, dict[str, _Verb]] | None] = {
    "stack": (
        "Write, check, explain, render and pin stacks.",
        _list_verbs("stack", "new")
        | {"list": ("stack.check", "list_stacks", "LIST")}
        | _list_verbs("stack", "check", "diff", "explain", "render", "affected", "pin", "access", "schema"),
    ),
    "doctor": None,
    "facts": ("Refresh the tables of facts.", {"refresh": ("facts", "refresh", "HELP")}),
    "prices": (
        "Fetch and show AWS's prices.",
        {"fetch": ("prices", "fetch", "FETCH"), "show": ("prices", "show_prices", "SHOW")},
    ),
    "post": (
        "Post reports to GitLab or GitHub.",
        {"comment": ("post", "comment", "COMMENT"), "issue": ("post", "issue", "ISSUE")},
    ),
    "image": ("Inspect one image: its platforms and its binaries.", _list_verbs("image", "inspect", "verify")),
    "simulate": None,
    "capacity": None,
    "cost": None,
    "workload": ("Change which nodes the pods of manifests may use.", _list_verbs("workload", "patch")),
    "audit": (
        "Show what is ready for arm64: images, DaemonSets, workloads.",
        _list_verbs("audit", "images", "daemonsets", "workloads"),
    ),
    "verify": ("Prove what runs on a cluster's nodes.", _list_verbs("verify", "nodes", "pods")),
    "rebalance": None,
    "webhook": ("Run and install the admission webhook.", _list_verbs("webhook", "serve", "manifests", "policy")),
    "review": None,
    "report": None,
}
"""In the order of the help text: the help text of a noun and its verbs; None for a command without verbs.

Only the module of the command that runs is loaded: `stack check` starts fast.
"""
_VERSION = "--version"
_SHOW_HELP_WITHOUT_ARGUMENTS = ("image", "post", "workload")


def list_completed_words(environment: Mapping[str, str]) -> list[str]:
    """Return the words behind the program's name that a shell completes; empty if it completes nothing."""
    if not any(name.endswith("MULTIARCH_COMPLETE") for name in environment):
        return []
    return (environment.get("COMP_WORDS") or environment.get("_TYPER_COMPLETE_ARGS") or "").split()[1:]


@cache
def build_application(noun: str | None = None, verb: str | None = None) -> Any:  # noqa: ANN401  (typer's click is private)
    """Return the application, a command to call: with ``noun`` and ``verb`` alone, or with all if they are unknown.

    For the noun ``--version`` it has no commands.
    """
    known = _NOUNS.get(noun or "")
    only = verb if known and verb in known[1] else None
    nouns: Iterable[str] = (noun,) if noun in _NOUNS else () if noun == _VERSION else _NOUNS
    app = typer.Typer(
        name="multiarch",
        cls=Application,
        help="EKS with amd64 and arm64 (Graviton) node groups, from a few lines of YAML per team.",
        no_args_is_help=True,
        # Plain help texts: the same on every terminal and in the documents.
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    for name in nouns:
        app.add_typer(_load(name, only))
    return typer.main.get_command(app)


def _load(noun: str, verb: str | None) -> typer.Typer:
    """Load a noun's commands, or ``verb`` alone."""
    written = _NOUNS[noun]
    if written is None:
        commands, verbs = typer.Typer(), {noun: (f"{noun}.command", noun, "HELP")}
    else:
        commands, verbs = typer.Typer(name=noun, help=written[0], no_args_is_help=True), written[1]
    for name in [verb] if verb else verbs:
        place, function, help_text = verbs[name]
        module = import_module(f"multiarch.cli.{place}")
        shows_help = noun in _SHOW_HELP_WITHOUT_ARGUMENTS
        commands.command(name, cls=Command, help=getattr(module, help_text), no_args_is_help=shows_help)(
            getattr(module, function)
        )
    return commands


def _show_version(value: bool) -> None:  # noqa: FBT001  (typer calls it with the flag)
    if value:
        typer.echo(__version__)
        raise typer.Exit


def _options(
    *,
    version: Annotated[
        bool, typer.Option(_VERSION, callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    project: ProjectOption = None,
) -> None:
    """Options before a command."""
