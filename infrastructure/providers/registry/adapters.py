"""The adapters of this version, by the names under which they are configured."""

from typing import Final

ADAPTERS: Final = ("fragment", "idempotent")
