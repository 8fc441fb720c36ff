# shellcheck shell=sh
# Sourced: put the Pulumi engine and .venv on PATH; .venv has `aws`, which the engine's plugins run. PULUMI_VERSION is
# installed below .cache/pulumi unless `pulumi` is there. The archive's SHA-256 must be PULUMI_SHA256, or else the one
# that Pulumi publishes with the release.

if ! command -v pulumi >/dev/null; then
  pulumi_home=$(pwd)/.cache/pulumi/$PULUMI_VERSION
  if [ ! -x "$pulumi_home/pulumi/pulumi" ]; then
    case $(uname -m) in x86_64) pulumi_machine=x64 ;; *) pulumi_machine=arm64 ;; esac
    pulumi_archive=pulumi-v$PULUMI_VERSION-linux-$pulumi_machine.tar.gz
    mkdir -p "$pulumi_home"
    curl -fsSL --retry 3 -o "$pulumi_home/$pulumi_archive" "https://get.pulumi.com/releases/sdk/$pulumi_archive"
    if [ -z "${PULUMI_SHA256:-}" ]; then
      PULUMI_SHA256=$(curl -fsSL --retry 3 \
        "https://github.com/pulumi/pulumi/releases/download/v$PULUMI_VERSION/pulumi-$PULUMI_VERSION-checksums.txt" |
        sed -n "s/^\([0-9a-f]\{64\}\)  *$pulumi_archive\$/\1/p")
    fi
    # Fails if the sum is empty, too.
    echo "$PULUMI_SHA256  $pulumi_home/$pulumi_archive" | sha256sum --check --quiet
    tar -xzf "$pulumi_home/$pulumi_archive" -C "$pulumi_home"
    rm -f -- "$pulumi_home/$pulumi_archive"
  fi
  PATH=$pulumi_home/pulumi:$PATH
fi
PATH=$(pwd)/.venv/bin:$PATH
export PATH
# A program that is not in a clone has packages of its own.
[ -z "${MULTIARCH_EKS_PROJECT:-}" ] || pulumi install
