"""Gathers what ``doctor`` judges: programs of this machine, AWS, hosts, and the cluster. Nothing is written."""

from __future__ import annotations

import base64
import importlib.metadata
import json
import os
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from multiarch.aws_cli import require_aws_cli
from multiarch.aws_errors import translate_failures
from multiarch.doctor import account, in_cluster, programs, quotas, reach, routes
from multiarch.doctor.existing import (
    OWN_TAG,
    Clients,
    OwnCluster,
    find_fixed_changes,
    find_foreign_log_group,
    read_log_group,
    read_unhealthy_groups,
)
from multiarch.doctor.joined import find_obstacles
from multiarch.doctor.model import CheckResult, CheckState, Examination, judge_found
from multiarch.errors import MultiarchError, OutsideError, UnknownFactError
from multiarch.facts.instance_types import get_instance_type
from multiarch.facts.partitions import ZONE_IDS_WITHOUT_EKS
from multiarch.kubernetes.errors import ClusterError
from multiarch.kubernetes.resources import SECRETS
from multiarch.kubernetes.source import ClusterAccess
from multiarch.nodes.model import CLUSTER_TAG, CapacityType
from multiarch.probe import find_silence
from multiarch.runs.doctor_sources import Check, MachineSources, StackSources, query_program
from multiarch.stack.checks.access import check_creator
from multiarch.stack.eks_cluster import EksCluster
from multiarch.stack.load import Stack
from multiarch.stack.model import ExistingClusterPlan, NewNetwork, Plan

_VENV_VERSION = re.compile(r"^version(?:_info)?\s*=\s*(\d+\.\d+\.\d+)", re.MULTILINE)


def check_prerequisites(
    root: Path, clients: Clients, stack: Stack | None, plan: Plan | None, access: ClusterAccess
) -> Examination:
    """Run all checks; without a stack, those of this machine and of the account."""
    if stack is None or plan is None:
        return Examination(None, list(_run(MACHINE_CHECKS, MachineSources(root=root, clients=clients))))
    sources = StackSources(root=root, clients=clients, stack=stack, plan=plan, access=access)
    rows = [*_run(MACHINE_CHECKS, sources), *_run({"charts": check_chart_hosts}, sources)]
    if sources.caller:
        rows += _run(AWS_CHECKS, sources)
    else:
        text = f"not checked without credentials: {', '.join(AWS_CHECKS)}"
        rows.append(CheckResult("stack", CheckState.UNKNOWN, text, "Fix the row `credentials`."))
    return Examination(plan.stack, rows)


def _run(checks: Mapping[str, Check], sources: MachineSources) -> Iterator[CheckResult]:
    for name, check in checks.items():
        try:
            with translate_failures():
                yield from list(check(sources))
        except MultiarchError as error:
            yield CheckResult(name, CheckState.UNKNOWN, error.message, error.hint)


def check_python(sources: MachineSources) -> Iterator[CheckResult]:
    """Check the virtual environment that ``Pulumi.yaml`` names."""
    settings = sources.root / ".venv" / "pyvenv.cfg"
    found = _VENV_VERSION.search(settings.read_text(encoding="utf-8")) if settings.is_file() else None
    version = found[1] if found else ""
    yield programs.judge_version_of("python", "Python of .venv", version, programs.PYTHON, "Run `make venv`")


def check_engine(_: MachineSources) -> Iterator[CheckResult]:
    """Check the engine, and the language host beside it or on PATH."""
    engine = shutil.which("pulumi") or ""
    version = query_program("pulumi", "version").strip() if engine else ""
    install = "Install Pulumi: https://www.pulumi.com/docs/install/"
    yield programs.judge_version_of("engine", "pulumi", version, programs.ENGINE, install)
    if not engine:
        return
    beside = Path(engine).resolve().parent / programs.LANGUAGE_HOST
    host = shutil.which(programs.LANGUAGE_HOST) or (str(beside) if beside.is_file() else "")
    yield judge_found("engine", host, f"{programs.LANGUAGE_HOST} is not there", f"{install} (it has both).")


def check_plugins(sources: MachineSources) -> Iterator[CheckResult]:
    """Check the plugins of the packages in the virtual environment."""
    folders = [str(each) for each in sources.root.glob(".venv/lib/python*/site-packages")]
    packages = {
        name: each.version
        for name in programs.SDKS
        for each in importlib.metadata.distributions(name=f"pulumi-{name}", path=folders)
    }
    printed = query_program("pulumi", "plugin", "ls", "--json")
    try:
        installed = {(row["name"], str(row.get("version")).removeprefix("v")) for row in json.loads(printed)}
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise OutsideError("`pulumi plugin ls --json` printed no list of plugins.") from error
    on_path = {name for name in programs.SDKS if shutil.which(f"pulumi-resource-{name}")}
    downloads = os.environ.get("PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION", "").lower() not in ("1", "true")
    yield from programs.judge_plugins(packages, installed, on_path, downloads=downloads)


def check_aws_cli(_: MachineSources) -> Iterator[CheckResult]:
    """Check the AWS CLI."""
    try:
        require_aws_cli()
    except MultiarchError as missing:
        yield CheckResult("aws cli", CheckState.FAILED, missing.message, missing.hint)
        return
    yield programs.judge_aws_cli(query_program("aws", "--version"))


def check_tools(sources: MachineSources) -> Iterator[CheckResult]:
    """Check programs that people need, and `pulumi up` does not; Helm's for a stack with charts of others."""
    charts = isinstance(sources, StackSources) and reach.list_chart_hosts(sources.plan)
    names = [name for name in programs.TOOLS if name != "helm" or charts]
    yield from programs.judge_tools({name: shutil.which(name) or "" for name in names})


def check_credentials(sources: MachineSources) -> Iterator[CheckResult]:
    """Check region and credentials, and name the identity that Pulumi would use."""
    try:
        with translate_failures():
            sources.region = sources.clients("eks").meta.region_name
            sources.caller = sources.clients("sts").get_caller_identity()["Arn"]
    except MultiarchError as error:
        yield CheckResult("credentials", CheckState.FAILED, error.message, error.hint)
    else:
        yield CheckResult("credentials", CheckState.OK, f"{sources.caller} in {sources.region}")


def check_existing_cluster(sources: StackSources) -> Iterator[CheckResult]:
    """Compare values that are fixed with the cluster; without one, check who would create it."""
    plan, origin = sources.plan, sources.stack.origin
    if isinstance(plan.cluster, ExistingClusterPlan):
        fine = f"{plan.cluster.name} takes the stack's nodes"
        joined = sources.joined
        unread = [CheckResult("cluster", CheckState.UNKNOWN, str(each), each.error.hint) for each in joined.unread]
        obstacles = list(find_obstacles(plan, origin, joined))
        if obstacles or not unread:
            yield from account.judge_problems("cluster", fine, obstacles)
        yield from unread
        return
    if isinstance(sources.cluster, OwnCluster):
        yield from account.judge_cluster(sources.cluster)
        found = find_fixed_changes(plan, origin, sources.cluster)
        yield from account.judge_problems("cluster", f"{plan.cluster.name} has the stack's fixed values", found)
        return
    problem = check_creator(sources.stack.spec.access, sources.caller, origin)
    fine = f"{plan.cluster.name} does not exist; {sources.caller} creates it"
    yield from account.judge_problems("cluster", fine, filter(None, [problem]))


def check_log_group(sources: StackSources) -> Iterator[CheckResult]:
    """Check that a stack without a cluster can create the log group of the control plane."""
    plan = sources.plan
    if isinstance(plan.cluster, ExistingClusterPlan):
        return
    name = plan.cluster.log_group_name
    if sources.cluster is None and plan.cluster.logging.types:
        found = find_foreign_log_group(plan, sources.stack.origin, read_log_group(sources.clients, name))
        yield from account.judge_problems("log group", f"{name} does not exist, or has the stack's tags", found)


def check_quotas(sources: StackSources) -> Iterator[CheckResult]:
    """Check what the stack needs against quotas and what others use of them."""
    client, needs = sources.clients("service-quotas"), quotas.list_needs(sources.plan)
    limits: dict[quotas.Quota, int] = {}
    for quota in sorted(needs):
        try:
            found = client.get_service_quota(ServiceCode=quota.service, QuotaCode=quota.code)
            limits[quota] = int(found["Quota"]["Value"])
        except client.exceptions.NoSuchResourceException:
            text = f"{quota.name}: Service Quotas has no {quota.code} in {sources.region}"
            yield CheckResult("quota", CheckState.UNKNOWN, text)
    others, uncounted = _count_others(sources)
    yield from quotas.judge_quotas(needs, others, limits, sources.region)
    if uncounted:
        named = ", ".join(f"{count} {name}" for name, count in sorted(uncounted.items()))
        text = f"the vCPUs of these running instances are not known, and not counted: {named}"
        yield CheckResult("quota", CheckState.UNKNOWN, text)


def _count_others(sources: StackSources) -> tuple[Counter[quotas.Quota], Counter[str]]:
    """Return what is used of each quota that is not the stack's, and how many instances have an unknown type."""
    ec2, cluster = sources.clients("ec2"), sources.plan.cluster.name
    others, uncounted = Counter[quotas.Quota](), Counter[str]()
    states = [{"Name": "instance-state-name", "Values": ["pending", "running"]}]
    for page in ec2.get_paginator("describe_instances").paginate(Filters=states):
        for row in (each for reservation in page["Reservations"] for each in reservation["Instances"]):
            if {"Key": CLUSTER_TAG, "Value": cluster} in row.get("Tags", ()):
                continue
            capacity = CapacityType.SPOT if row.get("InstanceLifecycle") == "spot" else CapacityType.ON_DEMAND
            try:
                kind = get_instance_type(row["InstanceType"])
            except UnknownFactError:
                uncounted[row["InstanceType"]] += 1
                continue
            if quota := quotas.find_vcpu_quota(kind, capacity):
                others[quota] += kind.vcpus
    others[quotas.ADDRESSES] = sum(not _is_own(row, cluster) for row in ec2.describe_addresses()["Addresses"])
    vpcs = [row for page in ec2.get_paginator("describe_vpcs").paginate() for row in page["Vpcs"]]
    others[quotas.VPCS] = sum(not _is_own(row, cluster) for row in vpcs)
    return others, uncounted


def _is_own(row: Mapping[str, Any], cluster: str) -> bool:
    tags = {tag["Key"]: tag["Value"] for tag in row.get("Tags", ())}
    return OWN_TAG in tags.items() and tags.get("Name", "").startswith(f"{cluster}-")


def check_roles(sources: StackSources) -> Iterator[CheckResult]:
    """Check the service-linked roles."""
    iam = sources.clients("iam")
    for name, service in account.list_service_roles(sources.plan).items():
        try:
            iam.get_role(RoleName=name)
            exists = True
        except iam.exceptions.NoSuchEntityException:
            exists = False
        yield account.judge_role(name, service, exists=exists)


def check_version(sources: StackSources) -> Iterator[CheckResult]:
    """Check that EKS offers the Kubernetes version."""
    version = sources.plan.cluster.version
    offered = sources.clients("eks").describe_cluster_versions(clusterVersions=[version])["clusterVersions"]
    yield account.judge_version(version, offered)


def check_subnets(sources: StackSources) -> Iterator[CheckResult]:
    """Check the subnets of a VPC that was there before the cluster."""
    plan = sources.plan
    if isinstance(plan.network, NewNetwork) or isinstance(plan.cluster, ExistingClusterPlan):
        return
    # A filter, because an ID that does not exist is an error otherwise.
    by = [{"Name": "subnet-id", "Values": list(plan.network.every_subnet_id)}]
    rows = sources.clients("ec2").describe_subnets(Filters=by)["Subnets"]
    yield from account.judge_subnets(plan.network, {row["SubnetId"]: row for row in rows})


def check_routes(sources: StackSources) -> Iterable[CheckResult]:
    """Check what nodes reach from subnets that were there before."""
    return routes.check_routes(sources.clients, sources.plan, sources.stack.spec, sources.region)


def check_offerings(sources: StackSources) -> Iterator[CheckResult]:
    """Check that each instance type of a node group is offered in its zones."""
    ec2, network, offered = sources.clients("ec2"), sources.plan.network, defaultdict[str, set[str]](set)
    if network.zones:
        zones = list(network.zones)
    elif not isinstance(network, NewNetwork):
        rows = ec2.describe_subnets(SubnetIds=list(network.private_subnet_ids))["Subnets"]
        zones = sorted({row["AvailabilityZone"] for row in rows})
    else:
        usual = [{"Name": "opt-in-status", "Values": ["opt-in-not-required"]}]
        rows = ec2.describe_availability_zones(Filters=usual)["AvailabilityZones"]
        named = sorted(row["ZoneName"] for row in rows if row["ZoneId"] not in ZONE_IDS_WITHOUT_EKS)
        zones = named[: network.zone_count]
    types = sorted({each.name for group in sources.plan.node_groups for each in group.instance_types})
    pages = ec2.get_paginator("describe_instance_type_offerings").paginate(
        LocationType="availability-zone", Filters=[{"Name": "instance-type", "Values": types}]
    )
    for row in (each for page in pages for each in page["InstanceTypeOfferings"]):
        offered[row["InstanceType"]].add(row["Location"])
    yield from account.judge_offerings(sources.plan, zones, offered)


def check_images(sources: StackSources) -> Iterator[CheckResult]:
    """Check the images that the stack pins."""
    if wanted := sorted({group.ami.id for group in sources.plan.node_groups if group.ami.id}):
        # A filter, because an ID that does not exist is an error otherwise.
        by = [{"Name": "image-id", "Values": wanted}]
        images = sources.clients("ec2").describe_images(Filters=by, IncludeDeprecated=True)["Images"]
        found = {row["ImageId"]: row["Architecture"] for row in images}
        yield from account.judge_images(sources.plan, sources.region, found)


def check_node_groups(sources: StackSources) -> Iterator[CheckResult]:
    """Check the managed node groups of an existing cluster."""
    if sources.cluster:
        groups = read_unhealthy_groups(sources.clients, sources.plan.cluster.name)
        yield from account.judge_groups(sources.plan, sources.region, groups)


def check_chart_hosts(sources: StackSources) -> Iterator[CheckResult]:
    """Check that the hosts of charts answer."""
    if hosts := reach.list_chart_hosts(sources.plan):
        yield reach.judge_hosts({host: find_silence(f"https://{host}/") for host in hosts})


def check_api(sources: StackSources) -> Iterator[CheckResult]:
    """Check that the Kubernetes API of an existing cluster answers here."""
    if sources.cluster is None:
        return
    endpoint, authority = sources.cluster.endpoint, base64.b64decode(sources.cluster.authority).decode()
    if not endpoint:
        raise OutsideError(f"The cluster is {sources.cluster.status}: it has no endpoint yet.")
    reason = find_silence(f"{endpoint}/readyz", authority)
    yield reach.judge_api(endpoint, reason, needed=reach.needs_api(sources.plan))


def check_inside(sources: StackSources) -> Iterator[CheckResult]:
    """Check who may use an existing cluster, and whether others have objects that the stack declares there."""
    plan, found, denied, user = sources.plan, sources.cluster, None, ""
    if not isinstance(plan.cluster, ExistingClusterPlan) or found is None:
        return
    if not reach.needs_api(plan):
        return
    try:
        with sources.open_cluster(found) as cluster:
            user = f"the user of the context {cluster.name}" if sources.access.is_given else ""
            denied = in_cluster.find_denied(cluster, plan)
            present = in_cluster.find_present(cluster, plan)
        own = _list_own(sources) if present else frozenset()
    except MultiarchError as error:
        if isinstance(error, ClusterError) and error.status == in_cluster.UNAUTHORIZED and not user:
            denied = "use the API"
        yield _judge_access(sources, found, denied, user) if denied is not None else _judge_entry(sources, found, error)
        text = f"objects in the cluster were not compared: {error.message}"
        yield CheckResult("object", CheckState.UNKNOWN, text, error.hint)
    else:
        yield _judge_access(sources, found, denied, user)
        yield from in_cluster.judge_objects(present, own, plan)


def _judge_access(sources: StackSources, found: EksCluster, denied: str, user: str) -> CheckResult:
    return in_cluster.judge_access(sources.plan, sources.caller, found.authentication_mode, denied, user)


def _judge_entry(sources: StackSources, found: EksCluster, error: MultiarchError) -> CheckResult:
    mode, entries = found.authentication_mode, list[str]()
    if mode != "CONFIG_MAP":
        pages = sources.clients("eks").get_paginator("list_access_entries").paginate(clusterName=found.name)
        entries = [each for page in pages for each in page["accessEntries"]]
    return in_cluster.judge_entry(sources.plan, sources.caller, mode, entries, error.message)


def _list_own(sources: StackSources) -> frozenset[str]:
    """Return what Pulumi's state has in the cluster, as kinds with IDs; nothing for a stack that is not there yet."""
    words = ("stack", "export", "--non-interactive", "--stack", sources.plan.stack)
    try:
        printed = query_program("pulumi", *words, folder=sources.root)
    except OutsideError as error:
        if "no stack named" in error.message:
            return frozenset()
        raise
    try:
        rows = json.loads(printed)["deployment"].get("resources") or ()
        return frozenset(f"{row['type'].rpartition(':')[2]} {row['id']}" for row in rows if "id" in row)
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise OutsideError("`pulumi stack export` printed no state.") from error


def check_releases(sources: StackSources) -> Iterator[CheckResult]:
    """Check the stack's Helm releases in an existing cluster."""
    own = reach.list_charts(sources.plan).keys()
    if sources.cluster is None or not own:
        return
    with sources.open_cluster(sources.cluster) as cluster:
        yield from reach.judge_releases(cluster.list_metadata(SECRETS, "owner=helm"), own)


MACHINE_CHECKS: Mapping[str, Check] = {
    "python": check_python,
    "engine": check_engine,
    "plugin": check_plugins,
    "aws cli": check_aws_cli,
    "tool": check_tools,
    "credentials": check_credentials,
}
AWS_CHECKS: Mapping[str, Check] = {
    "cluster": check_existing_cluster,
    "log group": check_log_group,
    "kubernetes version": check_version,
    "service-linked role": check_roles,
    "quota": check_quotas,
    "subnets": check_subnets,
    routes.CHECK: check_routes,
    "instance types": check_offerings,
    "image": check_images,
    "node groups": check_node_groups,
    "kubernetes api": check_api,
    "kubernetes access": check_inside,
    "helm release": check_releases,
}
"""The checks of a stack that need AWS, in the order of the rows."""
