"""What all models of the stack file have in common."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel


class Words(BaseModel):
    """Base of all models: camelCase keys, strict types, unknown keys refused, frozen."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="forbid",
        frozen=True,
        strict=True,
        use_attribute_docstrings=True,
        validate_by_alias=True,
    )


def _flag(value: object) -> object:
    """Pulumi hands top-level configuration over as strings; ``"true"`` and ``"false"`` are what it makes of a flag."""
    return {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value


TopLevelFlag = Annotated[bool, BeforeValidator(_flag)]
TaintText = Annotated[str, Field(examples=["arch=arm64:NoSchedule"])]
