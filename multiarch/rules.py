"""Every rule of ``stack check``: its name, its severity, what it refuses and the way out.

A problem takes its severity and, without a hint of its own, the way out from its rule's row; a problem whose rule has
no row can't be made. ``docs/reference/rules.md`` is generated from these rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

__all__ = ["RULES", "Rule", "Severity"]


class Severity(StrEnum):
    """How bad a problem is: an error refuses the stack, a warning is shown and passes."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. ``name`` is a stable kebab-case identifier.

    ``refuses`` completes "refuses …" in a few words. ``way_out`` is a sentence, shown with each problem that has no
    more specific hint.
    """

    name: str
    severity: Severity
    refuses: str
    way_out: str


def _error(name: str, refuses: str, way_out: str) -> Rule:
    return Rule(name, Severity.ERROR, refuses, way_out)


def _warning(name: str, refuses: str, way_out: str) -> Rule:
    return Rule(name, Severity.WARNING, refuses, way_out)


# fmt: off
_IMAGES = (
    _error("mixed-architectures", "a group whose instance types are amd64 and arm64", "Split it into two groups."),
    _error("half-architecture", "a multi-architecture group that names a type under the other architecture",
           "Move the type to the other architecture."),
    _error("unknown-instance-type", "an instance type that is not in the table of facts",
           "Run `multiarch facts refresh` if the type is new."),
    _error("duplicate-instance-type", "a type that one group names twice", "Remove one."),
    _error("not-an-eks-type", "a type that EKS nodes can't run on, such as a Mac host", "Choose another type."),
    _error("mixed-accelerators", "a group whose types need different drivers (none, NVIDIA, Neuron)",
           "Split it into one group per accelerator."),
    _warning("no-driver-image", "an accelerator for which no EKS image has drivers; the ordinary image is used",
             "Install the drivers with pods of your own, or give an image in ami.id."),
    _error("no-such-image", "an AMI family without an image for this architecture and accelerator",
           "Choose another amiFamily."),
    _error("image-does-not-boot", "a type that the family's image does not boot on, such as AL2023 on A1",
           "Choose another type, or another amiFamily."),
    _error("no-spot", "a spot group with a type that EC2 does not sell as spot",
           "Use capacityType: on-demand, or another type."),
    _warning("spot-single-type", "a spot group with one instance type", "Name several types of similar size."),
    _error("unknown-ami-type", "an `amiType` that the EKS API does not have", "Leave amiType out; it is derived."),
    _error("unsupported-ami-type", "`amiType` `CUSTOM`, or one of Windows", "Leave amiType out; it is derived."),
    _error("ami-family-mismatch", "a group whose `amiType` and `amiFamily` contradict each other",
           "Leave one of them out."),
    _error("ami-type-architecture", "an `amiType` of another architecture than the instance types",
           "Leave amiType out; it is derived."),
    _error("ami-type-accelerator",
           "an `amiType` for another accelerator than the types have: a GPU type with a plain image, or the reverse",
           "Leave amiType out; it is derived."),
    _error("ami-type-with-id", "a managed group with `amiType` beside `ami.id`",
           "Leave amiType out; amiFamily says how the image bootstraps."),
    _error("ami-twice", "`ami.id` beside `ami.release`",
           "Keep one: id for an image of your own or a self-managed group."),
    _error("ami-id", "an `ami.id` that is not an AMI ID", "Write an ID such as ami-0123456789abcdef0."),
    _error("ami-release", "an `ami.release` that is not a release of the family", "Run `multiarch stack pin`."),
    _error("ami-release-version", "an `ami.release` for another Kubernetes version",
           "Run `multiarch stack pin --upgrade`."),
    _error("release-self-managed", "`ami.release` on a self-managed group, which takes `ami.id`",
           "Run `multiarch stack pin`, which writes ami.id."),
    _warning("ami-not-pinned",
             "neither `ami.release` nor `ami.id`, or no release in Karpenter's `amiAlias`: AWS chooses the image",
             "Run `multiarch stack pin`."),
    _error("al2-too-new", "Amazon Linux 2 with Kubernetes 1.33 or later", "Use amiFamily AL2023 or Bottlerocket."),
    _warning("al2-ended", "Amazon Linux 2 with 1.32 or earlier, which has had no new images since 2025-11-26",
             "Move to AL2023 or Bottlerocket before the next Kubernetes upgrade."),
)

_NODE_GROUPS = (
    _error("no-node-groups", "a stack without a node group", "Add one under nodeGroups."),
    _error("sizes", "sizes that are not in the order `minSize` ≤ `desiredSize` ≤ `maxSize`",
           "Raise maxSize or lower minSize."),
    _error("group-name", "a group's name with characters or a length that EKS, or names made from it, refuse",
           "Rename the group."),
    _error("derived-name", "a launch template's or Auto Scaling group's name that AWS would refuse",
           "Shorten the group's or the cluster's name."),
    _error("duplicate-group", "a name of `nodeGroups` that is also in `multiArchitectureGroups`, or is a half of one",
           "Rename one of them."),
    _error("label-key", "a label key that Kubernetes or the EKS API refuses", "Write a key such as example.com/tier."),
    _error("label-value", "a label value that Kubernetes refuses", "Shorten or rewrite it."),
    _error("restricted-label", "a label that a node may not give itself", "Use a key of your own domain."),
    _error("taint", "a taint that the kubelet refuses, or whose effect is in the EKS API's spelling",
           "Write KEY=VALUE:EFFECT, such as dedicated=batch:NoSchedule."),
    _error("duplicate-taint", "a taint with key and effect of another one, the stack's arm64 taint included",
           "Remove one."),
    _error("managed-taint", "a taint key that the EKS API reserves, on a managed group", "Use kind: self-managed."),
    _error("too-many-taints", "more than 50 taints on a managed group", "Use fewer, or kind: self-managed."),
    _warning("max-pods", "`maxPods` above what the VPC CNI can address",
             "Lower maxPods, or turn on addons.vpcCni.prefixDelegation."),
    _error("update-limits", "`maxUnavailable` beside `maxUnavailablePercentage`", "Keep one."),
    _error("update-force", "`updateStrategy.force` on a self-managed group", "Leave it out."),
    _error("zones-empty", "`zones: []`", "Leave zones out for all."),
    _error("zones-unknown", "a group that names zones where the network has only their number",
           "Name them in network.zones, such as [eu-west-1a, eu-west-1b]."),
    _error("zone-not-in-network", "a zone of a group or pool that the network does not have",
           "Choose one of the network's zones."),
    _error("zone-without-subnet", "a group's zone without a private subnet", "Choose a zone with a private subnet."),
    _error("bootstrap-mode", "a `bootstrap.mode` that does not follow from kind and image", "Leave mode out."),
    _error("starts-kubelet", "a `preBootstrap` script that starts the kubelet, or mentions that outside of a comment",
           "Remove or reword that line."),
    _error("pre-bootstrap-family", "`preBootstrap` on Bottlerocket, which has no shell",
           "Use a bootstrap container or a DaemonSet."),
    _error("kubelet-flags-family", "`kubeletExtraArgs` on Bottlerocket, which takes settings",
           "Leave them out, or use AL2023."),
    _error("kubelet-own-flag", "a flag in `kubeletExtraArgs` that has a key of its own", "Use that key."),
    _error("kubelet-flag", "a flag that is not `--name=value`, or whose characters would not reach the kubelet",
           "Write --name=value, one flag to an item."),
    _error("al2-managed-kubelet", "kubelet flags or `maxPods` on a managed AL2 group, where EKS calls `bootstrap.sh`",
           "Give ami.id, use kind: self-managed, or AL2023."),
    _error("user-data", "user data that EC2 would refuse, such as more than 16,384 bytes",
           "Shorten preBootstrap."),
)

_CLUSTER = (
    _error("kubernetes-version", "a version that EKS does not have; unquoted 1.30 is the number 1.3",
           'Write it in quotes, such as "1.35".'),
    _error("kubernetes-unsupported", "a version whose EKS support has ended",
           "Use a later version; an existing cluster is upgraded one minor version at a time."),
    _warning("kubernetes-extended", "a version in extended support: 0.60 instead of 0.10 USD per hour",
             "Plan the upgrade."),
    _warning("kubernetes-forced-upgrade",
             "a version whose extended support ends within 60 days; then EKS upgrades the cluster automatically",
             "Upgrade before that date."),
    _warning("kubernetes-ends-soon", "a version whose standard support ends within 60 days", "Plan the upgrade."),
    _warning("kubernetes-unconfirmed", "a version whose support dates are not in the table of facts",
             "Check the EKS release calendar."),
    _error("cluster-name", "a cluster name that EKS refuses", "Set clusterName."),
    _error("endpoint-not-private", "`apiEndpoint.private: false`", "Leave private on; public can be on beside it."),
    _error("public-without-cidrs", "a public endpoint without `publicCidrs`",
           "Set apiEndpoint.publicCidrs, for example to the office's range."),
    _error("cidrs-without-public", "`publicCidrs` without `public: true`", "Set public: true, or remove publicCidrs."),
    _error("too-many-cidrs", "more than 40 `publicCidrs`", "Merge some."),
    _error("private-public-cidr", "a private range in `publicCidrs`",
           "Write the public address that your traffic comes from."),
    _warning("open-to-all", "`0.0.0.0/0` in `publicCidrs`", "List the ranges that need access."),
    _warning("documentation-cidr", "a range reserved for documentation in `publicCidrs`",
             "Write the public address that your traffic comes from."),
    _error("key-without-encryption", "`kmsKeyArn` with encryption off", "Turn encryption on, or remove the key."),
    _error("kms-key", "a `kmsKeyArn` that is not a key ARN", "Write arn:aws:kms:REGION:ACCOUNT:key/ID (not an alias)."),
    _error("kms-key-region", "a `kmsKeyArn` of another region than the stack", "Use a key of the stack's region."),
    _error("principal", "an entry of `access` that is not the ARN of an IAM role or user",
           "Write arn:aws:iam::ACCOUNT:role/NAME."),
    _error("principal-twice", "an ARN that is listed twice, or is admin and reader", "Remove one."),
    _warning("prod-unprotected", "production with `deletionProtection: false`",
             "Remove the line: production is protected by default."),
    _error("addon-version", "a version that is not an EKS add-on version",
           "Write a version such as v1.12.4-eksbuild.1."),
    _warning("no-vpc-cni", "`addons.vpcCni` turned off; without a CNI nodes never become ready",
             "Install another CNI as soon as the cluster exists."),
    _error("ebs-csi-without-role", "the EBS CSI driver without the Pod Identity agent",
           "Leave the agent on, or turn off addons.ebsCsi."),
    _error("storage-class", "`storageClass: true` without the EBS CSI driver",
           "Turn on addons.ebsCsi, or remove storageClass."),
    _warning("storage-class-unreachable",
             "`storageClass: true` with a private API endpoint in a new VPC: the first run can't reach the API",
             "Turn it on once a build agent or a VPN is in the VPC, or open apiEndpoint.public to your address."),
    _error("controller-has-no-node", "taints on every group that coredns, or the EBS CSI controller, does not tolerate",
           "Add a group without that taint, or remove it from one."),
    _warning("coredns-waits", "no node at the start in the groups that coredns can use",
             "Give one of them minSize 1 or more."),
    _error("session-times", "`maxDurationMinutes` below `idleTimeoutMinutes`", "Raise it, or lower the idle time."),
    _error("session-user", "a `runAsUser` that is not a Linux user name", "Write a name such as ec2-user."),
    _error("tag", "a tag key or value that AWS refuses", "Rewrite it."),
    _error("own-tag", "a tag that the plan writes itself",
           "Use the stack's own keys (team, environment, owner, costCenter)."),
    _error("too-many-tags", "more tags than AWS takes, with the plan's own", "Use fewer."),
)

_NETWORK = (
    _error("cidr", "a text that is not an IPv4 range", "Write a range such as 203.0.113.0/24."),
    _error("cidr-size", "a VPC range outside /16 to /22, or a Service range outside /12 to /24",
           "Choose another size."),
    _warning("public-cidr", "a VPC range that is not private",
             "Use 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 or 100.64.0.0/10."),
    _warning("docker-cidr", "a VPC range that overlaps 172.17.0.0/16, Docker's bridge", "Choose another range."),
    _error("service-cidr", "a Service range that is not private", "Use 172.20.0.0/16."),
    _error("overlapping-cidrs", "a Service range that overlaps the VPC's",
           "Change network.cidr or network.serviceCidr."),
    _error("subnets-too-small",
           "a private subnet with fewer addresses than its nodes and all their pods need at `maxSize`",
           "Use a larger network.cidr, fewer nodes (maxSize), smaller instance types, or prefix delegation."),
    _error("zone", "an availability zone, in `network.zones` or a pool's `zones`, that is not of the region",
           "Write names such as eu-west-1a."),
    _error("misspelled-key", "a misspelled `multiarch-eks:` or `aws:region`, which nothing reads",
           "Correct the key."),
    _error("zone-count", "fewer than 2 or more than 6 different zones", "List 2 to 6, each once."),
    _warning("zones-not-named", "production that takes the region's first zones instead of naming them",
             "List them in network.zones, such as [eu-west-1a, eu-west-1b, eu-west-1c]."),
    _error("too-few-zones", "a region with fewer zones than `network.zones`",
           "Lower network.zones, or choose another region."),
    _error("no-way-out", "`nat: none` without the endpoints that nodes need",
           "Add them to network.endpoints, or use nat: single."),
    _error("existing-network", "keys of a new VPC beside those of an existing one",
           "Leave the key out, or leave out vpcId and the subnet IDs."),
    _error("vpc-id", "a `vpcId` that is missing or not a VPC ID", "Write an ID such as vpc-0123456789abcdef0."),
    _error("subnet-id", "a text that is not a subnet ID", "Write an ID such as subnet-0123456789abcdef0."),
    _error("subnet-twice", "a subnet that is listed twice", "Remove one."),
    _error("subnets", "fewer than two private subnets", "List at least two."),
)

_STACK_FILE = (
    _error("file-name", "a file that is not called `Pulumi.TEAM-ENV.yaml`", "Call it Pulumi.TEAM-ENV.yaml."),
    _error("stack-name", "team and environment that do not make the stack's name",
           "Rename the file, or change team or environment."),
    _error("name", "a team or environment that can't be part of names",
           "Use lower-case letters, digits and hyphens, a letter first, no hyphen last."),
    _error("region", "an `aws:region` that is not a region", "Write a region such as eu-west-1."),
    _error("unknown-key", "a key that the schema does not have", "Remove it, or correct its spelling."),
    _error("missing-key", "a required key that is missing", "Add the key."),
    _error("empty-value", "a key without a value", "Give it a value, or leave the line out."),
    _error("wrong-type", "a value of the wrong type, such as a text where a number belongs",
           "Write a value of that type."),
    _error("not-allowed", "a value that is not one of those allowed", "Use one of the allowed values."),
    _error("out-of-range", "a number above or below its limits", "Use a number within the limits."),
    _error("wrong-length", "a list with too few or too many items", "Change the number of items."),
    _error("not-valid", "any other value that the schema refuses", "Change the value."),
    _error("defaults-in-stack", "`defaults` in a stack file; it belongs to `Pulumi.yaml`",
           "Write the keys themselves."),
    _error("project-name", "a `Pulumi.yaml` with another project name", "Call the project multiarch-eks."),
    _error("not-a-project", "a `Pulumi.yaml` without keys", "Restore name, runtime and config."),
    _warning("esc-environment",
             "an import of a Pulumi ESC environment, whose values only the engine sees",
             "This check knows this file and Pulumi.yaml only."),
    _error("secure-value", "an encrypted value; nothing in a stack is a secret", "Write the value itself."),
    _error("not-a-stack-file", "a file that is empty or has no keys",
           "Begin the file with `config:`; `multiarch stack new` writes one."),
    _error("not-yaml", "a file that is not YAML", "Correct the line."),
    _error("not-utf-8", "a file that is not UTF-8", "Save it as UTF-8."),
    _error("unreadable-file",
           "a file that can't be read, is a folder, a pipe or a device, or is larger than 1 MB", "Check the path."),
    _error("several-documents", "a file with several YAML documents", "Keep one."),
    _error("duplicate-key", "a key that is there twice, with and without `multiarch-eks:` included",
           "Keep one of the two."),
    _error("key-not-text", "a key that is not a text", "Write the key in quotes."),
    _error("date", "a value that YAML reads as a date", "Write it in quotes."),
    _error("octal-number", "a number with a leading zero, which Pulumi reads as octal", "Write it in quotes."),
    _error("not-a-number", "a number that Pulumi does not take, such as `.inf`", "Write it in quotes."),
    _error("unknown-tag", "a YAML tag that is not used here", "Leave the tag out."),
    _error("template", "a placeholder of a template, such as `{{ owner }}`",
           "Render the template first, or put the text in quotes."),
    _error("invisible-character", "an unquoted text with a character that only looks like a space, or like nothing",
           "Type the space again, or put the text in quotes."),
    _error("typographic-quotes", "a text in typographic quotes, which would be part of it",
           "Use straight quotes."),
    _error("wrong-merge", "`<<` without the alias of a mapping", "Write `<<: *ALIAS`, with the alias of a mapping."),
    _error("endless-alias", "an alias inside of its own anchor", "Remove the alias."),
    _error("too-many-values", "aliases that expand the file to more than 50,000 values", "Use fewer aliases."),
    _error("refused", "a stack that the command line could not read at all", ""),
)

_AUTOSCALING = (
    _error("ami-alias", "an `amiAlias` that is not an alias of an image, or names no release of its family",
           "Run `multiarch stack pin`."),
    _error("autoscaler-no-way-out",
           "an autoscaler with `nat: none`: its image registry, and IAM for Karpenter, have no VPC endpoint",
           "Use nat: single or per-zone, or autoscaling.use none."),
    _warning("autoscaler-not-used", "settings of an autoscaler that `autoscaling.use` does not name",
             "Set autoscaling.use, or remove them."),
    _error("autoscaler-tag", "a label or taint that makes a tag which an Auto Scaling Group can't carry",
           "Shorten the key of the label or taint."),
    _warning("autoscaler-unreachable",
             "a private API endpoint in a new VPC: the first run can't install the autoscaler",
             "Begin with autoscaling.use none, or open apiEndpoint.public to your address."),
    _error("autoscaler-without-role", "an autoscaler without `addons.podIdentityAgent`, which gives it its IAM role",
           "Leave the agent on, or set autoscaling.use to none."),
    _error("budget", "a pool's `budget` that is neither a number of nodes nor a percentage", "Write 2 or 10%."),
    _error("controller-group",
           "a group for Karpenter's controller that is missing, ambiguous, self-managed, spot, empty, or tainted",
           "Name a managed on-demand group without taints in controllerGroup."),
    _error("controller-nowhere", "a stack in which no group can run Karpenter's controller",
           "Add a managed on-demand group without taints."),
    _warning("controller-single-node", "one node for two controllers", "Raise the group's minSize to 2."),
    _error("duration", "a duration in a pool that Karpenter refuses, or an `expireAfter` of less than an hour",
           "Write a duration such as 10h or 8h30m."),
    _warning("instance-type-unused", "an instance type in a pool that another requirement excludes",
             "Remove it, or change architectures or capacityTypes."),
    _error("karpenter-subnets", "more existing subnets than an EC2NodeClass may list", "List fewer."),
    _error("karpenter-tag", "a tag that Karpenter writes itself", "Remove it."),
    _error("karpenter-version",
           "Karpenter below the minimum for the Kubernetes version, or newer than the IAM policies here",
           "Leave version out for the default."),
    _error("limit-below-every-type", "a pool's limit that is below what its smallest instance type has",
           "Raise it, or choose smaller types."),
    _error("migration", "`migrateFrom` without another autoscaler to go to", "Remove migrateFrom."),
    _warning("migration-architecture", "an architecture that only the autoscaler being left makes nodes of",
             "Add capacity of that architecture, or go on if no pod needs it."),
    _error("migration-no-room", "leaving Karpenter while no node group may grow",
           "Raise maxSize of the groups that take over."),
    _warning("migration-sizes", "a group to which the autoscaler being left may still add nodes",
             "Lower maxSize step by step while the new nodes take over."),
    _error("multi-architecture-of-one", "a multi-architecture pool with one architecture",
           "List both architectures, or leave multiArchitecture out."),
    _warning("no-group-can-grow", "the cluster autoscaler with `minSize` equal to `maxSize` in every group",
             "Raise maxSize of one, or set use: none."),
    _error("no-instance-type", "a pool that no instance type satisfies", "Relax the requirements of the pool."),
    _error("order-names-no-group", "a capacity in `order` that no group or pool has", "Remove it."),
    _error("order-twice", "a capacity that is twice in `order`", "Remove one."),
    _error("pool-name", "a pool name that Kubernetes refuses", "Rename the pool."),
    _error("pool-not-in-order", "a pool whose capacities are not in `order`",
           "Add one to the order, or remove the pool."),
    _warning("pool-without-limit", "a pool without a limit", "Set cpuLimit."),
    _error("prefer-and-order", "`prefer` beside `order`", "Keep one."),
    _error("prefer-names-no-group", "an architecture in `prefer` that no group or pool has", "Leave prefer out."),
    _error("priority", "a priority below 1", "Write 1 or more; the highest wins."),
    _error("priority-names-no-group", "a priority of a group that does not exist", "Correct the group's name."),
    _error("quantity", "a pool's `memoryLimit` that is not a quantity of memory", "Write a quantity such as 512Gi."),
    _error("quiet-hours-always",
           "`quietHours` that start again before they end, or never start: Karpenter would never disrupt a node",
           "Shorten the duration, or let the schedule start less often."),
    _error("schedule", "a `quietHours.schedule` that is not a cron schedule", "Write cron in UTC: 0 8 * * mon-fri."),
    _error("selection-twice", "two ways of choosing instance types, of which one would have no effect",
           "Keep one of the two."),
    _error("static-replicas", "a pool of fixed size, to which Karpenter gives no weight",
           "Leave replicas out; for a fixed number of nodes use nodeGroups."),
    _error("taint-key-twice", "two taints with one key, where a tag for the cluster autoscaler holds one",
           "Use one key per taint."),
    _error("too-many-autoscaler-tags", "more labels and taints than an Auto Scaling Group has room for",
           "Use fewer labels or tags."),
    _error("too-many-pools", "more pools than there are weights",
           "Merge some: one pool may have many instance types."),
    _error("unknown-selection", "a category, family or size that no instance type has", "Correct the name."),
    _error("weight-of-several", "one weight for a pool that is split into several",
           "List one architecture and one capacity type, or leave weight out."),
    _error("weight-tie", "two pools with one weight", "Give them different weights."),
)
# fmt: on

SECTIONS: Mapping[str, tuple[Rule, ...]] = MappingProxyType(
    {
        "Instance types and images": _IMAGES,
        "Node groups": _NODE_GROUPS,
        "Cluster and add-ons": _CLUSTER,
        "Network": _NETWORK,
        "The file": _STACK_FILE,
        "Autoscaling": _AUTOSCALING,
    }
)
"""The rules as docs/reference/rules.md shows them, by heading."""
RULES: Mapping[str, Rule] = MappingProxyType({rule.name: rule for rows in SECTIONS.values() for rule in rows})
"""Every rule by its name."""
