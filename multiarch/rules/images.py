"""Rules about instance types and images."""

from __future__ import annotations

from multiarch.rules.rule import error, warning

# fmt: off
IMAGES = (
    error("mixed-architectures", "a group whose instance types are amd64 and arm64", "Split it into two groups."),
    error("half-architecture", "a multi-architecture group that names a type under the other architecture",
          "Move the type to the other architecture."),
    error("unknown-instance-type", "an instance type that is not in the table of facts",
          "Run `multiarch facts refresh` if the type is new."),
    error("not-an-eks-type", "a type that EKS nodes can't run on, such as a Mac host", "Choose another type."),
    error("mixed-accelerators", "a group whose types need different drivers (none, NVIDIA, Neuron)",
          "Split it into one group per accelerator."),
    warning("no-driver-image", "an accelerator for which no EKS image has drivers; the ordinary image is used",
            "Install the drivers with pods of your own, or give an image in ami.id."),
    error("no-such-image", "an AMI family without an image for this architecture and accelerator",
          "Choose another amiFamily."),
    error("image-does-not-boot", "a type that the family's image does not boot on, such as AL2023 on A1",
          "Choose another type, or another amiFamily."),
    error("no-spot", "a spot group with a type that EC2 does not sell as spot",
          "Use capacityType: on-demand, or another type."),
    warning("spot-single-type", "a spot group with one instance type", "Name several types of similar size."),
    error("unknown-ami-type", "an `amiType` that the EKS API does not have", "Omit amiType; it is derived."),
    error("unsupported-ami-type", "`amiType` `CUSTOM`, or one of Windows", "Omit amiType; it is derived."),
    error("ami-family-mismatch", "a group whose `amiType` and `amiFamily` contradict each other",
          "Leave one of them out."),
    error("ami-type-architecture", "an `amiType` of another architecture than the instance types",
          "Omit amiType; it is derived."),
    error("ami-type-accelerator",
          "an `amiType` for another accelerator than the types have: a GPU type with a plain image, or the reverse",
          "Omit amiType; it is derived."),
    error("driver-too-old",
          "an image without the driver that an instance type needs: G7 with releases before 20260917, EFA on types "
          "without NVIDIA or Neuron devices with releases before 20260505",
          "Pin a later release with `multiarch stack pin --upgrade STACK`, or leave those types out."),
    error("ami-release", "an `ami.release` that is not a release of the family", "Run `multiarch stack pin STACK`."),
    error("ami-release-version", "an `ami.release` for another Kubernetes version",
          "Run `multiarch stack pin --upgrade STACK`."),
    error("release-self-managed", "`ami.release` without `ami.id` on a self-managed group",
          "Run `multiarch stack pin --upgrade STACK`, which writes ami.id."),
    warning("ami-release-alone",
            "`ami.release` without `ami.id`: EKS takes the newest release at the next change of the launch template",
            "Run `multiarch stack pin STACK`, which writes the release's ami.id; a group that runs is then replaced."),
    warning("ami-not-pinned",
            "neither `ami.release` nor `ami.id`, or no release in Karpenter's `amiAlias`: AWS chooses the image",
            "Run `multiarch stack pin STACK`."),
    error("al2-too-new", "Amazon Linux 2 with Kubernetes 1.33 or later", "Use amiFamily AL2023 or Bottlerocket."),
    warning("al2-ended", "Amazon Linux 2 with 1.32 or earlier, which has had no new images since 2025-11-26",
            "Move to AL2023 or Bottlerocket before the next Kubernetes upgrade."),
)
