#!/bin/sh
# Install the command line in FOLDER (.multiarch by default) for jobs outside a checkout of the project: FOLDER/multiarch.
# Its packages are those of requirements-cli.lock, with hashes; the code is that of the checkout of this script.
. "$(dirname "$0")/common.sh"

folder=${1:-.multiarch}
source=$(cd "$(dirname "$0")/../.." && pwd)
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps \
  --only-binary :all: --requirement "$source/requirements-cli.lock"
# -P: modules are never taken from the folder that it runs in, which is the checkout of somebody's repository.
cat >"$folder/multiarch" <<SCRIPT
#!/bin/sh
PYTHONPATH='$source' exec '$(cd "$folder" && pwd)/venv/bin/python' -P -m multiarch.cli "\$@"
SCRIPT
chmod +x "$folder/multiarch"
"$folder/multiarch" --version
