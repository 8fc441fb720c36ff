"""How much an action, a resource or a managed policy of IAM permits, for the policies and for reviews.

Source: IAM user guide, "IAM JSON policy elements: Action", "Resource"; "AWS managed policies for job functions".
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

ATTACHED = ("policyArn", "policyArns", "managedPolicyArns")
"""Properties with the ARNs of managed policies, one or several."""
OF_AWS = ":iam::aws:policy/"
ADMINISTRATOR = "AdministratorAccess"
_BROAD = (ADMINISTRATOR, "PowerUserAccess", "FullAccess")
"""What the names of broad policies have, also those of one service or of a later version."""
_KINDS = ("role", "user", "group")
_ESCALATING = (
    *(f"iam:{verb}{kind}policy" for verb in ("attach", "put") for kind in _KINDS),
    *("iam:passrole", "iam:createpolicyversion", "iam:setdefaultpolicyversion", "iam:createaccesskey"),
    *("iam:updateassumerolepolicy", "sts:assumerole"),
)
_TYPE = re.compile(r"^[\w-]+[/:]")


def is_whole_service(action: str) -> bool:
    """Return whether an action is a whole service, or all of them: ``*``, ``s3:*``, ``s3:?*``, ``*:*``."""
    name = action.rpartition(":")[2]
    return "*" in name and not name.strip("*?")


def is_broad_policy(arn: str) -> bool:
    """Return whether a managed policy is one of AWS that permits nearly everything, or a whole service."""
    return OF_AWS in arn and any(each in arn.rpartition("/")[2] for each in _BROAD)


def is_escalation(action: str) -> bool:
    """Return whether an action, or a pattern of actions, lets its holder get further permissions."""
    return any(fnmatchcase(each, action.lower()) for each in _ESCALATING)


def is_everywhere(resource: str, action: str) -> bool:
    """Return whether a pattern of ARNs is every resource that an action is for: ``*``, ``arn:aws:s3:::*``.

    A region, an account or a type of resource limits. For actions that let their holder get further permissions a type
    does not (``arn:aws:iam::*:role/*``), nor an account for those of IAM, as they work in their own one.
    """
    kind, _, _, region, account, rest = (resource.split(":", 5) + ["*"] * 5)[:6]
    if kind != "arn":
        return not resource.strip("*?:")
    name = _TYPE.sub("", rest, count=1) if is_escalation(action) else rest
    place = region if action.lower().startswith("iam:") else region + account
    return resource.endswith("*") and not (place + name).strip("*?/:")
