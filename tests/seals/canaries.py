"""Secrets that are planted to be looked for, in every form in which they might leak."""

import base64
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from infrastructure.embedded.binaries import find_binaries

_SHORTEST = 12
"""Characters of a secret that are enough to be one."""


@dataclass(frozen=True)
class Canaries:
    """Secrets by what they are, and where they must not be."""

    secrets: dict[str, bytes]
    looked_at: list[str] = field(default_factory=list[str])

    def assert_none_in(self, place: str, content: bytes) -> None:
        """Fail if any of them, or a good part of one, is in the content."""
        self.looked_at.append(place)
        for name, secret in self.secrets.items():
            for form, written in _forms(secret).items():
                assert written not in content, f"{name} ({form}) is in {place}"


def _forms(secret: bytes) -> dict[str, bytes]:
    """Return a secret as it may be written; a part of it is enough."""
    forms = {
        "as it is": secret,
        "its beginning": secret[:_SHORTEST],
        "its end": secret[-_SHORTEST:],
        "in hexadecimal": secret.hex().encode(),
        "in upper hexadecimal": secret.hex().upper().encode(),
        "as Python's repr": repr(secret)[2:-1].encode(),
        "in a URL": quote(secret).encode(),
        "for HTTP Basic": base64.b64encode(b"omniflow:" + secret),
    }
    for before in range(3):
        # In base64 what comes before decides how it is cut; the edges are blurred.
        whole = base64.b64encode(b"x" * before + secret)
        forms[f"in base64, {before} behind"] = whole[4:-4]
        forms[f"in base64 of URLs, {before} behind"] = (
            whole[4:-4].replace(b"+", b"-").replace(b"/", b"_")
        )
    return forms


def dumped(conninfo: str) -> bytes:
    """Return all that is in a database, as `pg_dump` writes it in clear."""
    tool = find_binaries(None).folder / "pg_dump"
    ended = subprocess.run(
        [str(tool), "--dbname", conninfo], capture_output=True, check=True, timeout=60
    )
    assert b"COPY counterfoil.goods_providers" in ended.stdout
    return ended.stdout


def arguments_of(pids: set[int]) -> bytes:
    """Return the arguments of processes, as everybody on the machine sees them."""
    found: list[bytes] = []
    for pid in pids:
        try:
            found.append(Path(f"/proc/{pid}/cmdline").read_bytes())
        except OSError:  # it has ended
            continue
    assert found or os.name != "posix"
    return b"\n".join(found)
