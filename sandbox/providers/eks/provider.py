"""Answers Construct for ``eks:index:Cluster``; every other type and every input not modelled is an error."""

from __future__ import annotations

import importlib.metadata
import shutil
from collections.abc import Mapping
from typing import Any, Final

import pulumi
from pulumi.provider import ConstructResult, Provider

from sandbox.providers import StandInError
from sandbox.providers.eks.cluster import Cluster

# Inputs the component makes something of.
MODELLED: Final = frozenset(
    {
        "accessEntries",
        "authenticationMode",
        "autoMode",
        "bootstrapSelfManagedAddons",
        "clusterTags",
        "corednsAddonOptions",
        "createInstanceRole",
        "createOidcProvider",
        "deletionProtection",
        "upgradePolicy",
        "enabledClusterLogTypes",
        "encryptionConfigKeyArn",
        "endpointPrivateAccess",
        "endpointPublicAccess",
        "ipFamily",
        "kubeProxyAddonOptions",
        "kubernetesServiceIpAddressRange",
        "name",
        "privateSubnetIds",
        "providerCredentialOpts",
        "publicAccessCidrs",
        "serviceRole",
        "skipDefaultNodeGroup",
        "skipDefaultSecurityGroups",
        "tags",
        "useDefaultVpcCni",
        "version",
        "vpcId",
    }
)


class EksProvider(Provider):
    """The eks provider of the sandbox."""

    def __init__(self) -> None:
        """Of the version of the installed SDK."""
        super().__init__(importlib.metadata.version("pulumi_eks"))

    def construct(
        self, name: str, resource_type: str, inputs: Mapping[str, Any], options: pulumi.ResourceOptions | None = None
    ) -> ConstructResult:
        """Declare the component's resources. Raises :class:`StandInError` for what is not modelled."""
        if resource_type != "eks:index:Cluster":
            raise StandInError(f"the sandbox's eks stand-in has no {resource_type}; it makes eks:index:Cluster only")
        unknown = sorted(key for key, value in inputs.items() if value is not None and key not in MODELLED)
        if unknown:
            raise StandInError(
                f"the sandbox's eks stand-in does not model the input {', '.join(unknown)} of eks:index:Cluster; "
                "add it in sandbox/providers/eks"
            )
        # pulumi/pulumi-eks, nodejs/eks/dependencies.ts, assertCompatibleAWSCLIExists; it checks the version too.
        if shutil.which("aws") is None:
            raise StandInError("Could not find aws CLI for EKS. The component needs it at every preview and update.")
        cluster = Cluster(name, {key: value for key, value in inputs.items() if value is not None}, options)
        return ConstructResult(cluster.urn, cluster.state)
