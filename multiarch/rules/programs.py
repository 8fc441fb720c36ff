"""Rules for the arguments of components in programs of one's own."""

from __future__ import annotations

from multiarch.rules.rule import error

# fmt: off
PROGRAMS = (
    error("value-known-later", "a value that is an output of another resource or a secret, where the plan needs it",
          "Write the value itself, or read it from the stack's configuration."),
    error("prefer-and-require", "workloads that shall prefer and require an architecture", "Keep one of the two."),
    error("no-change", "workloads with nothing to add", "Give tolerate, prefer or require."),
    error("no-manifests", "workloads without manifests", "Give objects, manifests, or both."),
)
