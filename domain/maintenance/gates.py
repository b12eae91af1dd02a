"""What maintenance closes: gates by their names, and the cause that waiting work shows.

A window's scope is the gate that it closes, or all of them.
"""

import re
from typing import Final

PANEL: Final = "panel"
"""The gate before the remote panel."""

ALL: Final = "all"
"""The scope of a window that closes every gate."""

SCOPES: Final = (PANEL, ALL)
"""Scopes that there are without any configuration."""

GOODS: Final = "goods:"
"""Begins the gate before a provider of goods, and the scope that closes it."""

_PROVIDER: Final = re.compile("goods:[a-z][a-z0-9_-]{1,31}")

MAINTENANCE_ACTIVE: Final = "maintenance_active"
"""The cause of whatever waits for the end of a window."""


def is_scope(scope: str) -> bool:
    """Whether a window may be about it; the provider need not be there yet."""
    return scope in SCOPES or _PROVIDER.fullmatch(scope) is not None
