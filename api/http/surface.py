"""The surfaces: who speaks there, and by which credential."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from domain.access.audience import Audience


class Surface(StrEnum):
    """A prefix with its own credentials; none of one opens another."""

    SHOPS = "/v1"
    """Shops and programs, by token."""
    ADMIN = "/v1/admin"
    """Operators' machines, by token."""
    PANEL = "/v1/panel"
    """People, by session."""
    HOOKS = "/v1/hooks"
    """Providers, by signature alone."""


OPERATORS: Final = frozenset({Surface.ADMIN, Surface.PANEL})
"""Where operators speak: who changes something says why."""

CREDENTIALS: Final[Mapping[Surface, Audience]] = {
    Surface.SHOPS: Audience.SHOP,
    Surface.ADMIN: Audience.ADMIN,
    Surface.PANEL: Audience.PANEL,
}
"""Whose credentials a surface takes; hooks take none."""
