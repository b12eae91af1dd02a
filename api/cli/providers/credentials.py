"""The group `credentials`: `set`, `rotate`, `list` and `make-key`."""

from pathlib import Path
from typing import Final

import rich_click as click

from api.cli.operating import instruction_of, reasoned
from api.cli.options import argument, as_json, command, group
from api.cli.output import document, say
from api.cli.providers.commands import provider, tenant_of
from api.cli.providers.given import credential_given, from_file, token_given
from api.cli.providers.told import (
    show_credentials,
    tell_configured,
    tell_resealed,
)
from api.installation import Installation

_FAILED: Final = 1


@group
def credentials() -> None:
    r"""Keep the credentials of goods providers, sealed.

    They are sealed with AES-256-GCM by the first key of
    COUNTERFOIL_DATA_ENCRYPTION_KEYS, each for its own row alone, and opened for every
    single call: a rotation needs no restart.  No command shows a secret, and none takes
    one as an argument.

    \b
    Examples:
      counterfoil credentials make-key
      counterfoil credentials set stars --file stars.json --reason "first provider"
      counterfoil credentials list
    """


@command
@provider
@from_file('{"baseUrl", "token", "currency"?, "webhookSecret"?} as JSON')
@tenant_of
@reasoned
@as_json
@click.pass_obj
def set_credential(  # noqa: PLR0913 - the options of the command, one to one
    installation: Installation,
    provider: str,
    *,
    file: Path | None,
    tenant: str,
    reason: str,
    as_json: bool,
) -> None:
    r"""Give a provider its address, its token and what else it is known by, whole.

    The same once more changes nothing.  Another address is refused while the provider
    is enabled or anything that was asked of it is not over; another account is another
    provider: give it another name.

    \b
    Examples:
      counterfoil credentials set stars --file stars.json --reason "first provider"
      vault read … | counterfoil credentials set stars --reason "new contract"
    """
    instruction = instruction_of(reason)
    credential = credential_given(file)
    with installation.open() as services:
        done = services.providers.set_credential(
            tenant, provider, credential, instruction
        )
    document(done) if as_json else tell_configured(done)


@command
@argument("provider", metavar="[PROVIDER]", required=False)
@from_file("the new token")
@tenant_of
@reasoned
@as_json
@click.pass_obj
@click.pass_context
def rotate(  # noqa: PLR0913 - the options of the command, one to one
    context: click.Context,
    installation: Installation,
    *,
    provider: str | None,
    file: Path | None,
    tenant: str,
    reason: str,
    as_json: bool,
) -> None:
    r"""Seal everything by the active key; or, of one PROVIDER, take another token.

    With PROVIDER the new token is read, and the next call of any worker uses it; it
    must be one of the same account.  Without, every credential that an older key seals
    is sealed by the first one of COUNTERFOIL_DATA_ENCRYPTION_KEYS, one by one; whatever
    stops it, each opens, and the same command goes on.  Exits with 1 if one does not.

    \b
    Examples:
      counterfoil credentials rotate --reason "yearly rotation of keys"
      counterfoil credentials rotate stars --file token.txt --reason "token leaked"
    """
    if provider is None and file is not None:
        msg = "--file holds the token of a PROVIDER: name it"
        raise click.UsageError(msg, context)
    instruction = instruction_of(reason)
    if provider is not None:
        token = token_given(file)
        with installation.open() as services:
            done = services.providers.rotate_credential(
                tenant, provider, token, instruction
            )
        document(done) if as_json else tell_configured(done)
        return
    with installation.open() as services:
        resealed = services.providers.reseal(instruction)
    document(resealed) if as_json else tell_resealed(resealed)
    context.exit(0 if resealed.is_whole else _FAILED)


@command
@as_json
@click.pass_obj
def list_credentials(installation: Installation, *, as_json: bool) -> None:
    r"""Show which key seals which credential, and which keys can be dropped.

    A key that seals nothing any more is still needed for a backup that is older than
    the last rotation.

    \b
    Examples:
      counterfoil credentials list
      counterfoil credentials list --json
    """
    with installation.open() as services:
        page = services.providers.look.credentials()
    document(page) if as_json else show_credentials(page)


@command
@argument("key_id", metavar="[ID]", required=False)
@as_json
@click.pass_obj
def make_key(installation: Installation, *, key_id: str | None, as_json: bool) -> None:
    r"""Make a key for COUNTERFOIL_DATA_ENCRYPTION_KEYS, and write it once.

    It is kept nowhere: put it where your other secrets are.  ID is what it is known by
    in lists and in the log, 1 to 32 of a-z, 0-9, dot, - and _; by default a random one.
    The same by hand: echo "k1:$(openssl rand -base64 32)".

    \b
    Examples:
      counterfoil credentials make-key 2027
    """
    key = installation.make_key(key_id)
    document({"key": key}) if as_json else say(key)


for _name, _command in (
    ("set", set_credential),
    ("rotate", rotate),
    ("list", list_credentials),
    ("make-key", make_key),
):
    credentials.add_command(_command, _name)
