"""Rules about the CronJob that rebalances."""

from __future__ import annotations

from multiarch.rules.rule import error, warning

# fmt: off
REBALANCE = (
    warning("rebalance-image-not-pinned", "a `rebalance.image` without a digest: the tag may be moved",
            "Write REGISTRY/REPOSITORY@sha256:DIGEST."),
    warning("rebalance-not-used", "settings of `rebalance` without `enabled: true`",
            "Set rebalance.enabled: true, or remove them."),
    error("rebalance-schedule", "a `rebalance.schedule` or its `quietHours.schedule` that is not a cron schedule",
          "Write cron in UTC: 0 8 * * mon-fri."),
    error("rebalance-duration", "a `rebalance.pace` or its `quietHours.duration` that is not a positive duration, or "
          "quiet hours that never end",
          "Write 30s or 5m for the pace, 10h or 8h30m for quiet hours."),
    error("rebalance-one-architecture", "`rebalance` in a stack without amd64 or without arm64 nodes",
          "Add a group or pool of the other architecture, or turn rebalance off."),
    warning("rebalance-unreachable",
            "`rebalance` with a private API endpoint in a new VPC: the first run of Pulumi can't reach the API",
            "Turn it on once a build agent or a VPN is in the VPC, or open apiEndpoint.public to your address."),
)
