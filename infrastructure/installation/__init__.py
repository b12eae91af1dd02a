"""One installation: where its database is, and all that it can be asked for.

place      the database that was given, or the embedded one
services   what can be asked for
wiring     how that is put together
opening    all of it, opened and closed
"""

from infrastructure.installation.opening import open_installation
from infrastructure.installation.place import Place, keep_limits, open_place
from infrastructure.installation.services import Services

__all__ = ["Place", "Services", "keep_limits", "open_installation", "open_place"]
