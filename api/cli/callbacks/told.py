"""Callbacks in a person's words; never their bodies."""

from collections.abc import Sequence
from typing import Final

from rich.text import Text

from api.cli.output import aside, say, show_rows
from api.cli.times import at
from application.callbacks.looking import CallbackLine
from application.callbacks.record import Receipt

_STYLES: Final = {
    "accepted": "green",
    "duplicate": "",
    "ignored": "yellow",
    "failed": "bold red",
    "rejected": "red",
}
_NEXT: Final = {
    "contradicted": "the provider has bought it, and the delivery had ended otherwise: "
    "settle it with the provider",
    "signature_invalid": "the credential's webhookSecret is not what signed it",
    "secret_unusable": "give the credential a webhookSecret of the form whsec_…",
    "no_webhook_secret": "give the credential the provider's webhookSecret",
    "timestamp_outside": "it was signed over five minutes ago, or a clock is wrong",
    "provider_unconfigured": "`counterfoil credentials list` says what is wrong",
    "unknown_key": "no delivery of that provider has the key; replay it when it has",
    "interrupted": "nobody knows whether it was told: replay it",
}


def tell_receipt(receipt: Receipt) -> None:
    """Write what became of one callback, and what can be done."""
    about = f" to delivery {receipt.delivery_id}" if receipt.delivery_id else ""
    why = f" ({receipt.code})" if receipt.code else ""
    say(f"callback {receipt.callback_id} {receipt.status}{about}{why}")
    _advise(receipt.code)


def complaint_of(receipt: Receipt) -> str:
    """Return why a callback was refused or has failed, in one line."""
    told = f"callback {receipt.callback_id} {receipt.status}: {receipt.code}"
    advice = _NEXT.get(receipt.code or "")
    return told if advice is None else f"{told}; {advice}"


def show_callbacks(lines: Sequence[CallbackLine]) -> None:
    """Write callbacks, a row each."""
    names = ("id", "received", "provider", "status", "code", "says", "delivery")
    show_rows(
        names,
        [
            [
                Text(str(line.id)),
                Text("" if line.received_at is None else at(line.received_at)),
                Text(line.provider),
                Text(line.status, _STYLES.get(line.status, "")),
                Text(line.code or ""),
                Text(line.kind or ""),
                Text("" if line.delivery_id is None else str(line.delivery_id)),
            ]
            for line in lines
        ],
    )


def show_callback(line: CallbackLine) -> None:
    """Write one callback, a line for each thing that is known."""
    received, processed = line.received_at, line.processed_at
    known = {
        "callback": str(line.id),
        "provider": f"{line.provider} (tenant {line.tenant_id})",
        "event": line.event_id,
        "status": line.status + (f" ({line.code})" if line.code else ""),
        "says": line.kind,
        "delivery": line.delivery_id,
        "repeats": line.duplicate_of,
        "received": None if received is None else at(received),
        "processed": None if processed is None else at(processed),
        "body": f"{line.body_bytes} bytes, SHA-256 {line.body_sha256}",
        "sealed by": None if line.key is None else f"key {line.key}",
    }
    for name, value in known.items():
        if value is not None:
            say(f"{name + ':':<11}{value}")
    _advise(line.code)


def _advise(code: str | None) -> None:
    advice = _NEXT.get(code or "")
    if advice is not None:
        aside(advice, "yellow")
