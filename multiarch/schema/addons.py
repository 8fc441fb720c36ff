"""The EKS add-ons: one key for each row of :mod:`multiarch.facts.addons`, and ``extra`` for any other."""

from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, create_model
from pydantic.alias_generators import to_snake

from multiarch.facts.addons import VERSION, AddOn, add_on, add_ons
from multiarch.facts.extra_addons import find_extra
from multiarch.schema.base import NAME_KEY, Section, take_form
from multiarch.schema.iam import PolicyArn, PolicyStatement

_VERSION = take_form(f"^{VERSION}$", "the version of an EKS add-on, such as v1.12.4-eksbuild.1")


class Addon(Section):
    """One EKS add-on."""

    enabled: bool = True
    """Install it."""
    version: Annotated[str, _VERSION] | None = None
    """An exact version such as ``v1.12.4-eksbuild.1``. ``multiarch stack pin`` writes it. Default: EKS's default
    for the cluster's version.
    """


class VpcCniAddon(Addon):
    """The VPC CNI add-on."""

    network_policy: bool = True
    """Enforce NetworkPolicies. Without it, and without another network policy engine, they have no effect."""
    prefix_delegation: bool = False
    """Give nodes /28 prefixes instead of single addresses: more pods per node, more addresses per subnet."""


class ExtraAddon(Addon):
    """Any EKS add-on, by the name that EKS gives it."""

    before_nodes: bool = False
    """Install it before the nodes, as an add-on that they need to become ready. Its pods must all be of DaemonSets."""
    configuration_values: dict[str, Any] = {}
    """The add-on's configuration. ``multiarch stack pin`` fetches AWS's schema of it, by which it is then checked. The
    stack's arm64 taint is tolerated without being written here, if where the add-on takes tolerations is known.
    """
    policies: list[PolicyArn] | None = None
    """ARNs of IAM policies of the role that its pods get by Pod Identity. Default: AWS's own for a few add-ons
    (aws-efs-csi-driver, amazon-cloudwatch-observability), otherwise none. ``[]`` attaches none.
    """
    statements: list[PolicyStatement] = []
    """Statements of that role's own policy."""
    service_account: str | None = None
    """The service account of the pods that get the role. Default: known for a few add-ons; ``multiarch stack pin``
    writes it for the others.
    """
    namespace: str | None = None
    """The namespace in which EKS installs the add-on, where it gets a role. Default: as for serviceAccount."""


class AddonsByName(Section):
    """The add-ons that a cluster needs, which are on by default, and more."""

    extra: dict[Annotated[str, Field(pattern=NAME_KEY)], ExtraAddon] = {}
    """More EKS add-ons, by name: any that `aws eks describe-addon-versions` lists."""

    def __getitem__(self, name: str) -> Addon:
        """Return the settings of the add-on that EKS calls ``name``."""
        if name in self.extra and name not in add_ons():
            return self.extra[name]
        settings: Addon = getattr(self, _name_field(name))
        return settings

    def list_rows(self) -> list[AddOn]:
        """Return what is known of each add-on that has a key here or is in ``extra``, enabled or not, these last."""
        return [*add_ons().values(), *(find_extra(name) for name in sorted(self.extra) if name not in add_ons())]

    def list_enabled(self) -> list[AddOn]:
        """Return what is known of each add-on that is installed."""
        return [row for row in self.list_rows() if self[row.name].enabled]

    @property
    def prefix_delegation(self) -> bool:
        """Whether the VPC CNI is installed and gives nodes prefixes."""
        cni = self["vpc-cni"]
        return isinstance(cni, VpcCniAddon) and cni.enabled and cni.prefix_delegation


@cache
def _name_field(name: str) -> str:
    return to_snake(add_on(name).key)


_WITH_KEYS_OF_THEIR_OWN: dict[str, type[Addon]] = {"vpc-cni": VpcCniAddon}


def _fields() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for row in add_ons().values():
        model = _WITH_KEYS_OF_THEIR_OWN.get(row.name, Addon)
        found[to_snake(row.key)] = (model, Field(default_factory=model.model_construct, description=row.description))
    return found


if TYPE_CHECKING:
    Addons = AddonsByName
else:
    Addons = create_model("Addons", __base__=AddonsByName, __doc__=AddonsByName.__doc__, **_fields())
