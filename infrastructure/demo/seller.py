"""Who sells the goods of a demo: a gateway that neither honours keys nor can be asked.

So whatever is not heard of a purchase waits for a person.  It never lies about what it
did: that nobody could find out.
"""

import os
from collections.abc import Collection
from typing import Final

import msgspec

from infrastructure.demo.diary import Diary
from infrastructure.demo.people.reviewer import NAME
from infrastructure.demo.processes import Processes

CURRENCY: Final = "USD"
ADAPTER: Final = "fragment"

FAULTS: Final = (
    "slow", "cut_before", "error_before", "garbage_before", "limited", "unauthorized",
    "balance_out", "cut_after", "late", "twice", "error_after", "garbage_after",
)  # fmt: skip
"""What goes wrong at the gateway."""

_WHY: Final = "the first seller of stars"


def configure(processes: Processes, providers: Collection[str], diary: Diary) -> None:
    """Let every provider that the shop's orders name be the gateway.

    Raises:
        DemoProcessError: a command was refused.
    """
    file = processes.place.folder / "credential.json"
    credential = {
        "baseUrl": processes.gateway_url,
        "token": processes.token,
        "currency": CURRENCY,
    }
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as opened:
        opened.write(msgspec.json.encode(credential))
    try:
        for provider in sorted(providers):
            why = ("--reason", _WHY)
            adapter = ("providers", "set", provider, "--adapter", ADAPTER)
            secret = ("credentials", "set", provider, "--file", str(file))
            processes.done(NAME, [*adapter, *why])
            processes.done(NAME, [*secret, *why])
            for tag in ("provider.configured", "credential.set"):
                diary.configured.append((tag, NAME, _WHY))
    finally:
        file.unlink()
