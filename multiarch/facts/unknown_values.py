"""What the Pulumi engine writes in the place of values that are known only after an update, by their type.

Source: pulumi/pulumi, sdk/go/common/resource/plugin/rpc.go.
"""

from __future__ import annotations

UNKNOWN_TEXT = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""In the place of a string."""
UNKNOWN_VALUES = frozenset(
    [
        UNKNOWN_TEXT,
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
    ]
)
"""In the place of a string, a boolean, a number, a list and a mapping."""
