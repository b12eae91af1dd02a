"""What a provider's sealed credential says, or why it cannot be used.

Why is told so that it goes on from "the credential of provider NAME …".
"""

from application.providers.book import Provider
from application.providers.credential import Credential, stored_credential
from application.providers.sealing import Seals, Unopened


def credential_in(provider: Provider, seals: Seals | None) -> Credential | str:
    """Return the credential, or why there is none that can be used."""
    secret = secret_in(provider, seals)
    if isinstance(secret, str):
        return secret
    credential = stored_credential(secret)
    if credential is None:
        return "is none of this version's"
    if credential.base_url != provider.base_url:
        return "is for another address than its row says"
    return credential


def secret_in(provider: Provider, seals: Seals | None) -> bytes | str:
    """Return what was sealed, byte by byte, or why it does not open."""
    if provider.sealed is None:
        return "is not set"
    if seals is None:
        return "cannot be opened: COUNTERFOIL_DATA_ENCRYPTION_KEYS is not set"
    secret = seals.open(provider.sealed, provider.place)
    match secret:
        case Unopened(code="key_missing", key=key):
            return f"is sealed by key {key}, which is missing"
        case Unopened(key=key):
            return f"does not open under key {key}"
        case bytes():
            return secret
