"""Scripts: a team's ``preBootstrap``, prepared to run, and registry mirrors, written before containerd starts."""

from __future__ import annotations

import base64
import shlex

from multiarch.nodes.model import Mirrors
from multiarch.nodes.user_data.text import is_plain

_SHEBANG = "#!/bin/bash -e\n"
_DELIMITER = "PRE_BOOTSTRAP"


def complete_script(script: str) -> str:
    """Complete a script: cloud-init needs a ``#!`` line (without one: bash, ending at the first failure)."""
    complete = script if script.startswith("#!") else _SHEBANG + script
    return complete if complete.endswith("\n") else complete + "\n"


def run_in_place(script: str) -> str:
    """Return Bash lines that run ``script`` in a separate process: its ``exit`` or ``cd`` does not affect the rest.

    The interpreter reads the file, so that the file need not be executable: hardened images mount ``/tmp`` with
    ``noexec``.
    """
    script = complete_script(script)
    # As the kernel reads it: the interpreter up to the first white space, the rest as one argument.
    interpreter = script.partition("\n")[0].removeprefix("#!").split(maxsplit=1) or ["/bin/bash"]
    command = " ".join(shlex.quote(word.strip()) for word in interpreter)
    plain = is_plain(script) and _DELIMITER not in script
    content, reader = (script, "cat") if plain else (base64.encodebytes(script.encode()).decode(), "base64 --decode")
    return (
        'pre_bootstrap="$(mktemp)"\n'
        f"{reader} >\"${{pre_bootstrap}}\" <<'{_DELIMITER}'\n"
        f"{content}"
        f"{_DELIMITER}\n"
        f'{command} "${{pre_bootstrap}}"\n'
        'rm --force "${pre_bootstrap}"\n'
    )


def write_mirrors(mirrors: Mirrors) -> str:
    """Return a script that tells containerd of mirrors; a registry itself stays the last resort.

    Amazon Linux's containerd reads ``/etc/containerd/certs.d`` (amazon-eks-ami, ``containerd/config.template.toml``).
    """
    lines = [_SHEBANG]
    for registry, urls in mirrors:
        folder = f"/etc/containerd/certs.d/{registry}"
        hosts = "".join(f'[host."{url}"]\ncapabilities = ["pull", "resolve"]\n' for url in urls)
        lines += [f"mkdir -p {folder}\n", f"cat >{folder}/hosts.toml <<'MIRRORS'\n{hosts}MIRRORS\n"]
    return "".join(lines)
