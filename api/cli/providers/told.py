"""Providers and credentials in a person's words; never a secret."""

from collections.abc import Sequence

from rich.text import Text

from api.cli.output import aside, say, show_rows
from api.cli.times import at
from application.providers.configuring import Configured, Resealed
from application.providers.looking import CredentialPage, KeyLine, ProviderLine

_WORDS = {
    "provider.enabled": "is enabled",
    "provider.disabled": "is disabled",
    "credential.set": "has a new credential",
    "credential.rotated": "has a new token",
    "credential.resealed": "has its credential sealed anew",
}


def tell_configured(done: Configured) -> None:
    """Write what a change has made of a provider."""
    if not done.events:
        say(f"nothing to do: provider {done.provider} is so already")
        return
    for tag in done.events:
        told = _WORDS.get(tag, f"is spoken to by adapter {done.adapter}")
        by_key = f", sealed by key {done.key}" if tag.startswith("credential.") else ""
        say(f"provider {done.provider} {told}{by_key}")
    if done.key is None:
        aside(
            "it has no credential yet: "
            f"`counterfoil credentials set {done.provider}` gives it one",
            "yellow",
        )


def tell_resealed(resealed: Resealed) -> None:
    """Write what became of every credential that another key sealed."""
    for done in resealed.resealed:
        tell_configured(done)
    bodies = resealed.bodies
    if bodies.n_taken:
        say(f"bodies of callbacks sealed anew: {bodies.n_taken}")
    if not resealed.resealed and not bodies.n_taken and resealed.is_whole:
        say(f"nothing to do: key {resealed.key} seals everything already")
    for each in resealed.unreadable:
        aside(each.problem, "bold red")
    if bodies.n_unreadable:
        told = f"bodies of callbacks that do not open: {bodies.n_unreadable}"
        aside(f"{told}; they stay as they are", "bold red")


def show_providers(lines: Sequence[ProviderLine]) -> None:
    """Write all providers, and what keeps from buying of one."""
    names = ("tenant", "provider", "adapter", "state", "at", "currency", "problem")
    show_rows(
        names,
        [
            [
                Text(line.tenant_id),
                Text(line.provider),
                Text(line.adapter),
                Text("enabled" if line.is_enabled else "disabled"),
                Text(line.host or ""),
                Text(line.currency or ""),
                Text(line.problem or "", "yellow"),
            ]
            for line in lines
        ],
    )


def show_credentials(page: CredentialPage) -> None:
    """Write all keys, and the credentials that each one seals."""
    names = ("tenant", "provider", "key", "given", "callbacks", "problem")
    show_rows(
        names,
        [
            [
                Text(line.tenant_id),
                Text(line.provider),
                Text(line.key),
                Text("" if line.given_at is None else at(line.given_at)),
                Text("signed" if line.has_webhook_secret else ""),
                Text(line.problem or "", "bold red"),
            ]
            for line in page.credentials
        ],
    )
    for key in page.keys:
        say(f"key {key.key} {_told(key)}")


def _told(key: KeyLine) -> str:
    seals = "1 credential" if key.seals == 1 else f"{key.seals} credentials"
    if key.bodies:
        seals += f", bodies of callbacks: {key.bodies}"
    if not key.is_here:
        return f"is missing, and seals {seals}"
    if key.is_active:
        return f"is active, and seals {seals}"
    if key.can_be_dropped:
        return "is old, and can be dropped: it seals nothing any more"
    return f"is old, and seals {seals}: `counterfoil credentials rotate` takes over"
