#!/bin/sh
# Make the command line ready on a runner of GitHub: later steps find it as MULTIARCH.
#
#   github-setup.sh            .venv of a clone of multiarch-eks, with Pulumi's packages
#   github-setup.sh --pulumi   also the engine, whose SHA-256 is compared with the published one
#   github-setup.sh --cli      the command line only: no Pulumi, no clone needed
#
# TOOL is the folder of multiarch-eks: . in a clone of it. Needs Python 3.11.5 or later; make, unless --cli is given.
set -eu

: "${TOOL:=.}"
tool=$(cd "$TOOL" && pwd)
if [ "${1:-}" = --cli ]; then
  "$tool/ci/scripts/install-cli.sh" "$RUNNER_TEMP/multiarch"
  {
    echo "MULTIARCH=$RUNNER_TEMP/multiarch/multiarch"
    echo "PYTHON=$RUNNER_TEMP/multiarch/venv/bin/python" # has boto3, which audit.sh needs
  } >>"$GITHUB_ENV"
  exit 0
fi
make --no-print-directory -C "$tool" venv
echo "MULTIARCH=$tool/.venv/bin/multiarch" >>"$GITHUB_ENV"
[ "${1:-}" = --pulumi ] || exit 0
engine=$(cd "$tool" && .venv/bin/python - "$RUNNER_TEMP/pulumi" <<'PYTHON'
import sys
from pathlib import Path

from sandbox import installer

cache = Path(sys.argv[1])
print(installer.installed(cache) or installer.install(cache, lambda text: print(text, file=sys.stderr)))
PYTHON
)
dirname "$engine" >>"$GITHUB_PATH"
# The engine's plugins run the AWS CLI. Runners without one get that of .venv, alone: steps keep their own Python.
command -v aws >/dev/null || ln -sf "$tool/.venv/bin/aws" "$(dirname "$engine")/aws"
# A program that is not in a clone has packages of its own.
[ "$TOOL" = . ] || "$engine" install
