"""The group `providers`: `list`, `set`, `enable` and `disable`."""

from typing import Final

import rich_click as click

from api.cli.operating import instruction_of, reasoned
from api.cli.options import argument, as_json, command, group, option
from api.cli.output import document
from api.cli.providers.limits import limits
from api.cli.providers.told import show_providers, tell_configured
from api.installation import Installation

provider: Final = argument("provider", metavar="PROVIDER")
"""The name that lines of goods say."""

tenant_of: Final = option(
    "--tenant", default="default", show_default=True, help="Whose provider it is."
)


@group
def providers() -> None:
    r"""Configure the providers that goods are bought of.

    A provider has a name, which lines of goods say, an adapter, which speaks its
    language, and a credential.  Changes take effect on the next call of any worker.

    \b
    Examples:
      counterfoil providers set stars --adapter fragment --reason "first provider"
      counterfoil credentials set stars --file stars.json --reason "first provider"
      counterfoil providers list
      counterfoil providers limits
    """


@command
@as_json
@click.pass_obj
def list_providers(installation: Installation, *, as_json: bool) -> None:
    r"""Show all providers, and why nothing is bought of one.

    Whether a credential opens is tried with the keys of this process:
    COUNTERFOIL_DATA_ENCRYPTION_KEYS.

    \b
    Examples:
      counterfoil providers list
      counterfoil providers list --json
    """
    with installation.open() as services:
        lines = services.providers.look.providers()
    document({"providers": lines}) if as_json else show_providers(lines)


@command
@provider
@option(
    "--adapter",
    required=True,
    metavar="NAME",
    help="fragment: a gateway that only buys; idempotent: one that honours "
    "Idempotency-Key, can be asked what became of it, and tells its balance.",
)
@tenant_of
@reasoned
@as_json
@click.pass_obj
def set_provider(  # noqa: PLR0913 - the options of the command, one to one
    installation: Installation,
    provider: str,
    *,
    adapter: str,
    tenant: str,
    reason: str,
    as_json: bool,
) -> None:
    r"""Make a provider, or give it another adapter.

    A new one is enabled and has no credential yet, so its deliveries wait.  Another
    adapter is refused while the provider is enabled or anything that was asked of it
    is not over: it would be looked up where nobody knows it, and bought twice.

    \b
    Examples:
      counterfoil providers set stars --adapter fragment --reason "first provider"
    """
    instruction = instruction_of(reason)
    with installation.open() as services:
        done = services.providers.configure(tenant, provider, adapter, instruction)
    document(done) if as_json else tell_configured(done)


@command
@provider
@tenant_of
@reasoned
@as_json
@click.pass_obj
def enable(
    installation: Installation,
    provider: str,
    *,
    tenant: str,
    reason: str,
    as_json: bool,
) -> None:
    r"""Buy goods of a provider again; what waits for it goes on within a minute.

    \b
    Examples:
      counterfoil providers enable stars --reason "the new contract is signed"
    """
    instruction = instruction_of(reason)
    with installation.open() as services:
        done = services.providers.enable(tenant, provider, instruction)
    document(done) if as_json else tell_configured(done)


@command
@provider
@tenant_of
@reasoned
@as_json
@click.pass_obj
def disable(
    installation: Installation,
    provider: str,
    *,
    tenant: str,
    reason: str,
    as_json: bool,
) -> None:
    r"""Buy nothing of a provider any more.

    Its deliveries wait and spend no purchase.  What was submitted before may still
    reach it, a call that is on its way is not called back; and it is still asked what
    became of that.

    \b
    Examples:
      counterfoil providers disable stars --reason "moves to another account"
    """
    instruction = instruction_of(reason)
    with installation.open() as services:
        done = services.providers.disable(tenant, provider, instruction)
    document(done) if as_json else tell_configured(done)


for _name, _command in (
    ("list", list_providers),
    ("set", set_provider),
    ("enable", enable),
    ("disable", disable),
    ("limits", limits),
):
    providers.add_command(_command, _name)
