"""Typer's help texts and messages of usage, without the words of Python and pydantic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import typer
from pydantic import ValidationError
from typer.core import TyperCommand, TyperGroup
from typer.models import OptionInfo

from multiarch.cli.lines import find_own_name


class Command(TyperCommand):
    """A command whose help names its arguments without their Python types."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ANN401  (typer's own click, which is private)
        """Return the pieces of the usage line, without hidden arguments."""
        shown = [each for each in self.get_params(ctx) if not getattr(each, "hidden", False)]
        return ["[OPTIONS]", *(piece for each in shown for piece in each.get_usage_pieces(ctx))]

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401  (as above)
        """Write the arguments and options."""
        sections: dict[str, list[tuple[str, str]]] = {"argument": [], "option": []}
        for parameter in self.get_params(ctx):
            if row := parameter.get_help_record(ctx):
                is_argument = parameter.param_type_name == "argument"
                name = parameter.metavar if is_argument and parameter.metavar else row[0]
                sections[parameter.param_type_name].append((name, row[1]))
        for title, rows in (("Arguments", sections["argument"]), ("Options", sections["option"])):
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


class Application(TyperGroup):
    """All commands: an invalid value of an option is reported in plain words."""

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401  (as above)
        """Run the command. Raises BadParameter for an invalid value."""
        # Usage errors say: Try 'NAME stack check -h'.
        ctx.info_name = find_own_name()
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = _plain(error)
            raise


def make_choice(words: Sequence[str], *names: str, metavar: str = "", text: str) -> OptionInfo:
    """Return an option that takes one of the ``words``; ``names`` where they are not the parameter's."""

    def parse(value: str) -> str:
        if value not in words:
            raise typer.BadParameter(f"{value!r} is not one of {', '.join(repr(str(word)) for word in words)}.")
        return words[words.index(value)]

    def complete(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    shown = metavar or "|".join(words)
    option: OptionInfo = typer.Option(*names, parser=parse, autocompletion=complete, metavar=shown, help=text)
    return option


def _plain(error: typer.BadParameter) -> str:
    if not isinstance(error.__cause__, ValidationError):
        return error.message
    fault = error.__cause__.errors()[0]
    context = fault.get("ctx", {})
    match fault["type"]:
        case "greater_than_equal":
            return f"must be at least {context['ge']:g}."
        case "less_than_equal":
            return f"must be at most {context['le']:g}."
        case "int_parsing":
            return f"{fault['input']!r} is not a whole number."
        case "float_parsing":
            return f"{fault['input']!r} is not a number."
        case _:
            return error.message.removeprefix("Value error, ")
