"""Help texts and messages of usage: in words that a user knows, and not cut."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.core import TyperGroup

from multiarch.cli.application import build_application
from tests.cli.running import type_of_run


def commands(command: Any, *names: str) -> Iterator[tuple[str, ...]]:  # noqa: ANN401  (typer's own click)
    yield names
    if isinstance(command, TyperGroup):
        for name, inner in command.commands.items():
            yield from commands(inner, *names, name)


@pytest.mark.parametrize("names", [*commands(build_application())], ids=" ".join)
def test_a_help_text_names_values_in_the_users_words_and_cuts_no_summary(
    run: type_of_run, names: tuple[str, ...]
) -> None:
    text = run(*names, "--help").out
    assert not [word for word in ("list[", " range>", "<str>", "<path>", "<int>", "<float>", "[[") if word in text]
    listed = text.partition("\nCommands:\n")[2]
    assert "..." not in listed


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("workload", "patch", "-", "--tolerate", "arm"), "'--tolerate': 'arm' is not one of 'amd64', 'arm64'."),
        (("image", "inspect", "nginx", "--timeout", "0"), "'--timeout': must be at least 0.1."),
        (("workload", "patch", "-", "--weight", "101"), "'--weight': must be at most 100."),
        (("stack", "render", "--jobs", "two"), "'--jobs' / '-j': 'two' is not a whole number."),
        (("simulate", "a", "--output", "xml"), "'--output' / '-o': "),
    ],
)
def test_an_invalid_value_is_reported_in_plain_words(run: type_of_run, arguments: tuple[str, ...], said: str) -> None:
    ran = run(*arguments)
    assert ran.code == 2
    assert f"Error: Invalid value for {said}" in ran.err
    assert "Input should" not in ran.err
    assert "Value error" not in ran.err


@pytest.mark.parametrize(
    "files",
    [
        ("--manifests", "one.yaml", "two.yaml"),
        ("--manifests", "one.yaml", "--manifests", "two.yaml"),
        ("one.yaml", "two.yaml"),
    ],
)
def test_manifests_are_given_in_one_spelling_and_files_alone_are_hidden(
    run: type_of_run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text(f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n")
    ran = run("audit", "images", *files, "-o", "json")
    assert (ran.code, ran.json["withoutImages"]) == (0, [{"kind": "ConfigMap", "objects": 2}])
    shown = run("audit", "images", "--help").out
    assert "--manifests FILE" in shown
    assert "FILE|FOLDER" not in shown
