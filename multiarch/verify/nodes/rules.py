"""Every rule of ``multiarch verify nodes``: its name, its severity, what it finds and the fix."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from multiarch.rules import Finding, Rule
from multiarch.rules.rule import error, warning

_REPLACE = "Replace the node: drain it, and terminate its instance."
# fmt: off
_ROWS = (
    # The plan and EC2.
    error("instance-type", "an instance type that the group does not have",
          "Run `pulumi up`, and replace the node."),
    error("plan-architecture", "an instance of another architecture than its group's",
          "Run `pulumi up`, and replace the node."),
    error("ami-architecture", "an AMI of another architecture than the instance type: it does not boot",
          "Correct ami.id in the stack, or omit it, and replace the node."),
    warning("ami-release", "another AMI than the one that the stack pins", "Run `pulumi up`, and replace the node."),
    error("ami-family", "another operating system than the group's AMI family", _REPLACE),
    warning("launch-template", "an older launch template version than its Auto Scaling Group uses",
            "Start an instance refresh or a node group update, or replace the node."),
    warning("unknown-group", "an instance of the cluster in a group that the stack does not have",
            "Add the group to the stack, or remove its instances."),
    # EC2 and the Node.
    error("node-architecture", "a kubelet that reports another architecture than the instance type's", _REPLACE),
    error("node-label", "a label for architecture, instance type or zone with another value than EC2's",
          "Restart the kubelet, which sets it, or replace the node."),
    error("not-ready", "a Node that is not Ready", "Read `kubectl describe node NAME` and the kubelet's log."),
    error("never-joined", "an instance that runs and has not become a Node", "Read its boot log."),
    warning("no-instance", "a Node whose instance does not run", "Delete it: `kubectl delete node NAME`."),
    warning("no-provider-id", "a Node that does not name its instance",
            "Check the kubelet's --cloud-provider flag."),
    warning("kubelet-version", "a kubelet of another minor version than the control plane",
            "Update the group to the cluster's version."),
    # The plan and the Node.
    error("taint-missing", "a Node without a taint of its group",
          "Run the command again with `--fix-taints`, and `pulumi up` if the kubelet was started without the taint."),
    error("taint-differs", "a taint of the group with another value or effect",
          "Correct it: `kubectl taint node NAME KEY=VALUE:EFFECT --overwrite`."),
    error("taint-unexpected", "a taint for an architecture that the group does not have",
          "Remove it: `kubectl taint node NAME KEY:EFFECT-`."),
    error("label", "a Node without a label of its group, or with another value",
          "Run `pulumi up`, and replace the node."),
    # The Node and what it reports about itself.
    error("cpu-architecture", "a CPU of another architecture than the Node's", _REPLACE),
    error("program-architecture", "a kubelet, containerd or runc built for another architecture than the CPU's",
          "Correct the image or the bootstrap script that installed it, and replace the node."),
    warning("kubelet-taints", "taints or labels that the kubelet was started with and the Node does not have",
            "Somebody changed the Node: compare `kubectl describe node NAME` with the plan."),
    warning("taint-late", "a taint of the group that the kubelet does not register itself with",
            "Run `pulumi up`, and replace the node: until another program adds the taint, pods may start on it."),
    warning("not-asked", "a node that could not be queried through SSM",
            "Check the SSM agent, its role and its way to the endpoints."),
    # The cluster's own autoscaler.
    warning("autoscaler-flags", "an installed cluster autoscaler without the flags that the stack needs",
            "Set the flags that `multiarch stack explain` shows where the autoscaler was installed."),
    warning("pool-weight", "another NodePool, of amd64 nodes, that comes before the stack's arm64 NodePools",
            "Give it a lower weight, or the stack's NodePool a higher one (`weight`)."),
)
# fmt: on
RULES: Mapping[str, Rule] = MappingProxyType({row.name: row for row in _ROWS})
"""Every rule by its name."""


def make_finding(rule: str, text: str, hint: str = "", details: tuple[str, ...] = ()) -> Finding:
    """Return what a rule found; without a ``hint`` the fix is the rule's."""
    return Finding(RULES[rule], "", text, details, hint=hint or RULES[rule].fix)
