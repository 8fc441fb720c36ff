"""What all models of the stack file have in common."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from multiarch.serialization import convert_to_camel_case


class Section(BaseModel):
    """Base of all models: camelCase keys, strict types, unknown keys rejected, frozen.

    A docstring below a field is its description (:func:`multiarch.stack.schema_paths.read_descriptions`). Pydantic
    would read all of them at every start, which takes longer than the checks of a stack. Models are built at first use.
    Their modules omit ``from __future__ import annotations``: pydantic would compile each annotation at every start.
    """

    model_config = ConfigDict(
        alias_generator=convert_to_camel_case,
        defer_build=True,
        extra="forbid",
        frozen=True,
        strict=True,
        validate_by_alias=True,
    )

    @property
    def written(self) -> frozenset[str]:
        """The keys that the file sets, in its spelling."""
        return frozenset(self.read_written())

    def read_written(self) -> dict[str, Any]:
        """Return the values that the file sets by their keys, in the fields' order; sections below stay models.

        Unlike ``model_dump`` it needs no serializer, which pydantic would build for the model.
        """
        own = self.model_fields_set
        return {
            field.alias or name: getattr(self, name) for name, field in type(self).model_fields.items() if name in own
        }


def get_section_default(model: type[Section]) -> Any:  # noqa: ANN401  (the default of a field, as of pydantic's Field)
    """Return the default of a section that may be omitted: all of its own defaults."""
    return Field(default_factory=model.model_construct)


def _flag(value: object) -> object:
    """Pulumi hands top-level configuration over as strings; ``"true"`` and ``"false"`` are what it makes of a flag."""
    return {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value


def reject_duplicates(values: list[str]) -> list[str]:
    """Return a list whose items differ. Raises ValueError for another one."""
    for index, value in enumerate(values):
        if value in values[:index]:
            raise ValueError(f"{value} is named twice")
    return values


NAME_KEY, POLICY_KEY = "^[A-Za-z0-9_-]+$", "^[A-Za-z0-9]+$"
KEY_FORMS = {NAME_KEY: "letters, digits, - and _", POLICY_KEY: "letters and digits"}
"""Patterns of keys that a team chooses, and what they take, in words, for messages."""
RetentionDays = Literal[
    1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653
]
"""What CloudWatch takes, up to ten years."""
TopLevelFlag = Annotated[bool, BeforeValidator(_flag)]
TaintText = Annotated[str, Field(examples=["arch=arm64:NoSchedule"])]
