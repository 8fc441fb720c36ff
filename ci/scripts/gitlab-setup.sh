# shellcheck shell=sh
# Sourced by GitLab's jobs for stacks: make .venv with SETUP, unless it is there. The default makes that of this project:
# here in a clone of it, or else in the folder that the job has fetched it into.

if [ ! -x .venv/bin/multiarch ]; then
  if [ -n "${SETUP:-}" ]; then
    sh -c "$SETUP"
  elif [ -z "${MULTIARCH_EKS_PROJECT:-}" ]; then
    make venv
  else
    make -C .multiarch-eks venv
    ln -sfn .multiarch-eks/.venv .venv
  fi
fi
