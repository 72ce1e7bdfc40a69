"""The byte budget: one object for a run, and the only place that says no."""

from __future__ import annotations

from penstock.config import format_bytes
from penstock.errors import BudgetError


def spell_enough(size: int) -> str:
    """Bytes for people, rounded up: who asks for what it says gets at least ``size``.

    >>> spell_enough(2_149_000)
    '2.2 MB'
    """
    unit = next((u for u in (1, 10**3, 10**6, 10**9) if size < 1000 * u), 10**12)
    tenth = max(unit // 10, 1)
    return format_bytes(-(-(size + 1) // tenth) * tenth)


class Budget:
    """Bytes that a run may hold, and who holds them."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.holders: dict[str, int] = {}

    @property
    def used(self) -> int:
        """Bytes that are taken."""
        return sum(self.holders.values())

    @property
    def left(self) -> int:
        """Bytes that nobody has taken."""
        return self.limit - self.used

    def take(self, size: int, holder: str) -> None:
        """Take bytes, or raise a BudgetError that lists who has them."""
        if size > self.left:
            held = ", ".join(f"{name} {format_bytes(n)}" for name, n in self.holders.items())
            raise BudgetError(
                f"memory: {holder} needs {format_bytes(size)}, but only "
                f"{format_bytes(max(self.left, 0))} of {format_bytes(self.limit)} are left"
                f"{f' ({held})' if held else ''}; "
                f"requires at least {spell_enough(self.used + size)}"
            )
        self.holders[holder] = self.holders.get(holder, 0) + size

    def give_back(self, holder: str) -> None:
        """Free everything that was taken under a name."""
        self.holders.pop(holder, None)
