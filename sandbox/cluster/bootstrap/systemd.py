"""Arguments that reach the kubelet through a variable of its systemd unit.

systemd replaces ``$VARIABLE`` in ``ExecStart=`` by words: it splits the value at white space and takes quotes away.
Sources: systemd.service(5), "Command lines"; systemd.exec(5), ``Environment=`` and ``EnvironmentFile=``;
systemd.unit(5), "Specifiers".
"""

from __future__ import annotations

import re
import shlex

from sandbox.cluster.bootstrap.model import NodeStartError

_SPECIFIER = re.compile(r"%(?P<letter>.?)", re.DOTALL)


def words_of_environment(value: str) -> tuple[str, ...]:
    """Read ``value`` as in ``Environment='NAME=value'``, where ``%%`` stands for ``%``. Raises NodeStartError."""
    if fault := re.search(r"['\\\n]", value):
        raise NodeStartError(
            f"systemd does not read the arguments as they are written: {fault.group()!r} in {value!r} ends the "
            "quotes of Environment= or escapes what follows it. The kubelet starts with other arguments, or with none."
        )
    for found in _SPECIFIER.finditer(value):
        if found["letter"] != "%":
            raise NodeStartError(
                f"systemd reads {found.group()!r} in {value!r} as a specifier. The kubelet starts with other "
                "arguments, or with none.",
                hint="Write %% for a per cent sign.",
            )
    return _split(value.replace("%%", "%"))


def words_of_environment_file(value: str) -> tuple[str, ...]:
    """Read ``value`` as in a file with ``NAME="value"``, as nodeadm writes it. Raises NodeStartError."""
    # Quotes in the value end those around it, and the text between is read without quotes.
    return _split(" ".join(_split(f'"{value}"')))


def _split(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise NodeStartError(
            f"systemd can't read the kubelet's arguments {text!r} ({error}). The kubelet does not start."
        ) from error
