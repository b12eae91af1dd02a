"""The group `tokens`: `create`, `list`, `rotate` and `revoke`."""

from typing import Final

import msgspec
import rich_click as click

from api.cli.access.told import show_tokens, tell_made, tell_revoked
from api.cli.operating import instruction_of, reasoned
from api.cli.options import argument, as_json, command, group, option
from api.cli.options import tenant as of_tenant
from api.cli.output import document
from api.installation import Installation
from application.access.tokens import DEFAULT_DAYS, DEFAULT_OVERLAP_SECONDS, Wanted
from application.operators.instruction import Instruction
from domain.access.permissions import Permission
from domain.access.tokens import LONGEST_DAYS, LONGEST_OVERLAP_SECONDS

_KEY: Final = argument("key", metavar="NAME|ID")
_TENANT: Final = option(
    "--tenant", default="default", show_default=True, help="Whose token it is."
)
_DAYS: Final = option(
    "--days",
    type=click.IntRange(1, LONGEST_DAYS),
    default=DEFAULT_DAYS,
    show_default=True,
    help="When it expires, at the latest in a year.",
)


@group
def tokens() -> None:
    r"""Keep the tokens by which programs use the API.

    A token opens one surface, /v1 for shops or /v1/admin for operators' programs, and
    may what its scopes say.  It is shown once; of its secret a digest is kept.

    \b
    Examples:
      counterfoil tokens create webshop --surface shop --scope orders:write \
        --reason "the new shop"
      counterfoil tokens list
      counterfoil tokens rotate webshop --reason "yearly rotation"
    """


@command
@argument("name")
@option(
    "--surface",
    required=True,
    type=click.Choice(["shop", "admin"]),
    help="What it opens: shop: /v1; admin: /v1/admin.",
)
@option(
    "--scope",
    "scopes",
    multiple=True,
    required=True,
    type=click.Choice(sorted(each.value for each in Permission)),
    metavar="PERMISSION",
    help="What it may, like orders:write; to be given once for each.",
)
@_DAYS
@option(
    "--from",
    "places",
    multiple=True,
    metavar="NETWORK",
    help="Where it may be used, like 192.0.2.0/24; left out: everywhere.",
)
@_TENANT
@reasoned
@as_json
@click.pass_obj
def create(  # noqa: PLR0913 - the options of the command, one to one
    installation: Installation,
    *,
    name: str,
    surface: str,
    scopes: tuple[str, ...],
    days: int,
    places: tuple[str, ...],
    tenant: str,
    reason: str,
    as_json: bool,
) -> None:
    r"""Make a token and write it, this once, on standard output.

    NAME is what the log calls the program; no other live token of the tenant has it.

    \b
    Examples:
      counterfoil tokens create webshop --surface shop --scope orders:write \
        --scope orders:read --reason "the new shop"
      counterfoil tokens create deployer --surface admin --scope maintenance:write \
        --days 30 --from 192.0.2.7 --reason "closes for deployments"
    """
    instruction = instruction_of(reason)
    wanted = Wanted(
        tenant_id=tenant,
        name=name,
        surface=surface,
        scopes=scopes,
        expires_in_days=days,
        allowed_from=places,
    )
    with installation.open() as services:
        made = services.access.tokens.create(wanted, instruction)
    document(made) if as_json else tell_made(made)


@command
@of_tenant
@as_json
@click.pass_obj
def list_tokens(
    installation: Installation, *, tenant: str | None, as_json: bool
) -> None:
    r"""Show all tokens: what they open, until when, and when they were used last.

    \b
    Examples:
      counterfoil tokens list
      counterfoil tokens list --tenant default --json
    """
    with installation.open() as services:
        found = services.access.tokens.all(tenant)
    document({"tokens": found}) if as_json else show_tokens(found)


@command
@_KEY
@_DAYS
@option(
    "--overlap",
    type=click.IntRange(0, LONGEST_OVERLAP_SECONDS),
    default=DEFAULT_OVERLAP_SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="For how long the secret before stays good; 0: it is over at once.",
)
@_TENANT
@reasoned
@as_json
@click.pass_obj
def rotate(  # noqa: PLR0913 - the options of the command, one to one
    installation: Installation,
    *,
    key: str,
    days: int,
    overlap: int,
    tenant: str,
    reason: str,
    as_json: bool,
) -> None:
    r"""Give a token another secret, and write it, this once.

    Both secrets are good until the overlap is over, so that the program can take over
    without a gap; there are never more than two.  It expires anew.

    \b
    Examples:
      counterfoil tokens rotate webshop --reason "yearly rotation"
      counterfoil tokens rotate webshop --overlap 0 --reason "it has leaked"
    """
    instruction = _of(tenant, reason)
    with installation.open() as services:
        made = services.access.tokens.rotate(
            _plain(key), instruction, days=days, overlap_seconds=overlap
        )
    document(made) if as_json else tell_made(made)


@command
@_KEY
@_TENANT
@reasoned
@as_json
@click.pass_obj
def revoke(
    installation: Installation, *, key: str, tenant: str, reason: str, as_json: bool
) -> None:
    r"""Let a token open nothing any more, from the next request on.

    \b
    Examples:
      counterfoil tokens revoke webshop --reason "the shop is closed"
    """
    instruction = _of(tenant, reason)
    with installation.open() as services:
        kept = services.access.tokens.revoke(_plain(key), instruction)
    document(kept) if as_json else tell_revoked(kept)


def _of(tenant: str, reason: str) -> Instruction:
    """Return the instruction about one tenant: a name is one's of each tenant."""
    return msgspec.structs.replace(instruction_of(reason), tenant_id=tenant)


def _plain(key: str) -> str:
    return key.removeprefix("tok_")


for _name, _command in (
    ("create", create),
    ("list", list_tokens),
    ("rotate", rotate),
    ("revoke", revoke),
):
    tokens.add_command(_command, _name)
