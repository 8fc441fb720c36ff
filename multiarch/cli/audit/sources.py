"""A list of images to audit, and what an audit of images says that it did not read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from multiarch.cli.terminal import say
from multiarch.errors import MultiarchError
from multiarch.files import read_text
from multiarch.kubernetes.manifests import STANDARD_INPUT, STANDARD_INPUT_NAME, standard_input
from multiarch.plurals import counted

if TYPE_CHECKING:
    from multiarch.audit.uses import ImageUse, NotRead

_SHOWN, _SHOWN_PATHS = 20, 5
"""Objects that notes name, one line each, and fields in such a line; the others are counted."""


def from_list(name: str) -> list[ImageUse]:
    """A list of images, one per line; blank lines and comments (``#``) are skipped.

    Raises MultiarchError for a file that can't be read, or that lists no image.
    """
    from multiarch.audit.uses import FileLine, ImageUse
    from multiarch.manifests.containers import ContainerRole
    from multiarch.manifests.owners import WorkloadKey

    try:
        text = standard_input() if name == STANDARD_INPUT else read_text(Path(name))
    except (OSError, UnicodeDecodeError) as error:
        raise MultiarchError(f"{name} can't be read: {getattr(error, 'strerror', None) or error}.") from error
    file = STANDARD_INPUT_NAME if name == STANDARD_INPUT else name
    found = [
        ImageUse(
            image,
            "",
            ContainerRole.CONTAINER,
            WorkloadKey("", "List", Path(file).name),
            "",
            location=FileLine(file, number),
        )
        for number, line in enumerate(text.splitlines(), start=1)
        if (image := line.partition("#")[0].strip())
    ]
    if not found:
        raise MultiarchError(f"{file} lists no images.", hint="Write one image per line.")
    return found


def say_not_read(not_read: NotRead) -> None:
    """Print to stderr in which objects no image was found, and where there may be some that were not read."""
    if not_read.without_images:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(not_read.without_images.items()))
        say(f"note: no image found in {counted(not_read.without_images.total(), 'object')}: {kinds}.")
    possible = sorted(not_read.possible.items())
    for title, paths in possible[:_SHOWN]:
        more = f" and {len(paths) - _SHOWN_PATHS} more" if len(paths) > _SHOWN_PATHS else ""
        say(f"note: {title} may hold images that were not read: {', '.join(paths[:_SHOWN_PATHS])}{more}.")
    if len(possible) > _SHOWN:
        say(f"note: {len(possible) - _SHOWN} more objects may hold images that were not read; see --output json.")


def not_read_data(not_read: NotRead) -> dict[str, object]:
    """The same in JSON."""
    return {
        "withoutImages": [{"kind": kind, "objects": count} for kind, count in sorted(not_read.without_images.items())],
        "possibleImages": [
            {"object": title, "paths": list(paths)} for title, paths in sorted(not_read.possible.items())
        ],
    }
