"""Finds what a change costs: the monthly difference per team, architecture and capacity type.

Where there is no price, an amount is unknown with its reason, and the differences in vCPUs and GiB remain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from multiarch.prices.amounts import list_unknown_reasons, subtract_amounts, sum_amounts, sum_known
from multiarch.prices.model import Amount, RegionPrices, UnknownPrice
from multiarch.review.cost_parts import CostPart, explain_not_compared, get_pricing, list_cost_parts
from multiarch.review.model import StackChange
from multiarch.rules import REVIEW_RULES, Finding
from multiarch.serialization import OMITTED, JsonProperty

_INCREASE = REVIEW_RULES["cost-increase"]


@dataclass(frozen=True, slots=True)
class CostRow:
    """What one kind of thing costs a team in a month, before and after.

    ``what`` is ``arm64 spot nodes``, ``control plane``, ``NAT gateways``. ``vcpus`` and ``gib`` are differences, None
    where they are unknown. ``before`` and ``after`` are at the present size, the other two at the maximum size.
    """

    team: str
    what: str
    nodes_before: int
    nodes_after: int
    vcpus: Decimal | None
    gib: Decimal | None
    before: Amount
    after: Amount
    at_most_before: Amount = field(metadata=OMITTED)
    at_most_after: Amount = field(metadata=OMITTED)

    @JsonProperty
    def change(self) -> Amount:
        """Return the difference per month."""
        return subtract_amounts(self.after, self.before)

    @JsonProperty
    def change_at_most(self) -> Amount:
        """Return the difference per month if all groups grow to their maximum size."""
        return subtract_amounts(self.at_most_after, self.at_most_before)


@dataclass(frozen=True, slots=True)
class CostDifference:
    """What a change costs per month.

    ``prices`` are those of the region, or why there are none. ``basis`` has one line for each resource, with what its
    amounts are computed from; ``unknown`` says why amounts are unknown, ``stale`` that prices are old, or is empty.
    """

    rows: tuple[CostRow, ...]
    prices: RegionPrices | UnknownPrice = field(metadata=OMITTED)
    basis: tuple[str, ...]
    unknown: tuple[str, ...]
    stale: str

    @JsonProperty
    def prices_fetched_at(self) -> datetime | None:
        """Return the time at which the prices were fetched, None without prices."""
        return None if isinstance(self.prices, UnknownPrice) else self.prices.fetched

    @JsonProperty
    def currency(self) -> str:
        """Return the prices' currency, empty without prices."""
        return "" if isinstance(self.prices, UnknownPrice) else self.prices.currency

    @JsonProperty
    def total(self) -> Decimal | None:
        """Return the difference of all rows that are known; None if no row is, and without prices."""
        if isinstance(self.prices, UnknownPrice):
            return None
        known = [row.change for row in self.rows if isinstance(row.change, Decimal)]
        return sum(known, Decimal(0)) if known else None

    @JsonProperty
    def complete(self) -> bool:
        """Return whether the total has all rows, and all that there is to compare was compared."""
        return all(isinstance(row.change, Decimal) for row in self.rows) and bool(self.rows or not self.unknown)


def compare_costs(change: StackChange) -> CostDifference:
    """Return what the change costs; no rows if it changes nothing that has a price."""
    pricing = get_pricing(change)
    if reason := explain_not_compared(change):
        return CostDifference((), pricing.prices, (), (reason,), "")
    before, after = list_cost_parts(change, pricing)
    # What costs the same before and after would only hide what the rest costs, if its price is unknown.
    kept = Counter((part.subject, part) for part in before) & Counter((part.subject, part) for part in after)
    old, new = _without(before, kept.copy()), _without(after, kept)
    keys = sorted({(part.team, part.what) for part in (*old, *new)})
    rows = tuple(row for key in keys if (row := _row(key, old, new)) is not None)
    shown = {(row.team, row.what) for row in rows}
    old, new = ([part for part in side if (part.team, part.what) in shown] for side in (old, new))
    amounts = [amount for part in (*old, *new) for amount in (part.monthly, part.at_most)]
    return CostDifference(
        rows, pricing.prices, tuple(_basis(old, new)), list_unknown_reasons(amounts), pricing.stale if rows else ""
    )


def _without(side: Sequence[CostPart], kept: Counter[tuple[str, CostPart]]) -> list[CostPart]:
    """Return parts without those that are kept, each as often as it is: two clusters may cost the same."""
    left: list[CostPart] = []
    for part in side:
        if kept[part.subject, part]:
            kept[part.subject, part] -= 1
        else:
            left.append(part)
    return left


def find_increases(found: CostDifference, threshold: Decimal) -> Iterator[Finding]:
    """Yield a finding for each team whose known costs rise by more than ``threshold`` per month."""
    for team in sorted({row.team for row in found.rows}):
        rows = [(row, row.change) for row in found.rows if row.team == team]
        rise = sum_known(amount for _, amount in rows)
        if rise <= threshold:
            continue
        at_most = sum_amounts(row.change_at_most for row, _ in rows)
        bound = "" if isinstance(at_most, UnknownPrice) else f"; at the groups' maximum sizes {format_signed(at_most)}"
        yield Finding(
            _INCREASE,
            f"team {team}",
            f"Costs rise by about {rise:,.2f} {found.currency} per month{bound}.",
            (
                *(
                    f"{row.what}: {format_signed(amount)}"
                    for row, amount in rows
                    if isinstance(amount, UnknownPrice) or amount
                ),
                *found.unknown,
                *filter(None, (found.stale,)),
            ),
        )


def format_signed(amount: Amount) -> str:
    """Return ``+1,234.50``, ``-3.00``, ``0.00``, or ``unknown``."""
    if isinstance(amount, UnknownPrice):
        return "unknown"
    rounded = round(amount, 2)
    return f"{rounded:+,.2f}" if rounded else "0.00"


def _row(key: tuple[str, str], before: Sequence[CostPart], after: Sequence[CostPart]) -> CostRow | None:
    """Return the row of a key; None if the sums are the same."""
    old = [part for part in before if (part.team, part.what) == key]
    new = [part for part in after if (part.team, part.what) == key]
    row = CostRow(
        *key,
        nodes_before=sum(part.nodes for part in old),
        nodes_after=sum(part.nodes for part in new),
        vcpus=_difference([part.vcpus for part in new], [part.vcpus for part in old]),
        gib=_difference([part.gib for part in new], [part.gib for part in old]),
        before=sum_amounts(part.monthly for part in old),
        after=sum_amounts(part.monthly for part in new),
        at_most_before=sum_amounts(part.at_most for part in old),
        at_most_after=sum_amounts(part.at_most for part in new),
    )
    counts = (row.nodes_after - row.nodes_before, row.vcpus, row.gib, row.change, row.change_at_most)
    # A group with another name may cost the same.
    return None if all(each == 0 for each in counts) or Counter(old) == Counter(new) else row


def _basis(before: Sequence[CostPart], after: Sequence[CostPart]) -> Iterator[str]:
    """Yield ``node group api: 1 × m7g.large, at most 4 (present size) → 2 × m7g.xlarge, at most 4 (desired size)``."""
    old, new = ({part.subject: _shown(part) for part in side} for side in (before, after))
    for subject in sorted({*old, *new}):
        yield f"{subject}: {old.get(subject, 'nothing')} → {new.get(subject, 'nothing')}"


def _shown(part: CostPart) -> str:
    return f"{part.basis or 'unknown'} ({part.size} size)" if part.size else part.basis or "unknown"


def _difference(new: Sequence[int | Decimal | None], old: Sequence[int | Decimal | None]) -> Decimal | None:
    """Return the difference of two sums; None if a part is unknown."""
    sums = []
    for side in (new, old):
        known = [Decimal(each) for each in side if each is not None]
        if len(known) < len(side):
            return None
        sums.append(sum(known, Decimal(0)))
    return sums[0] - sums[1]
