"""What maintenance closes: gates by their names, and the cause that waiting work shows.

A window's scope is the gate that it closes, or all of them.
"""

from typing import Final

PANEL: Final = "panel"
"""The gate before the remote panel."""

ALL: Final = "all"
"""The scope of a window that closes every gate."""

SCOPES: Final = (PANEL, ALL)

MAINTENANCE_ACTIVE: Final = "maintenance_active"
"""The cause of whatever waits for the end of a window."""
