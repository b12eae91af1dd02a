"""The panel that the environment names, if any, and what opens a simulated one."""

import os
from collections.abc import Mapping

from infrastructure.simulators.panel.backing.tokens import signed

VARIABLES = ("COUNTERFOIL_CONTRACT_PANEL_URL", "COUNTERFOIL_CONTRACT_PANEL_TOKEN")
SIMULATED_TOKEN = signed({"uuid": "main", "role": "API"})


def named(environ: Mapping[str, str]) -> tuple[str, str] | None:
    """Return URL and token of the panel that is named, None when none is.

    Raises:
        ValueError: one of the two is missing.
    """
    url, token = (environ.get(name, "") for name in VARIABLES)
    missing = [name for name in VARIABLES if not environ.get(name)]
    if len(missing) == 1:
        msg = f"{missing[0]} is missing"
        raise ValueError(msg)
    return (url.rstrip("/"), token) if url else None


ANOTHER = named(os.environ)
