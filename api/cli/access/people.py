"""The group `people`: `add`, `list`, `role`, `disable`, `enable` and `password`."""

from typing import Final

import rich_click as click

from api.cli.access.given import password_given
from api.cli.access.told import show_people, tell_person
from api.cli.operating import instruction_of, reasoned
from api.cli.options import argument, as_json, command, group, option
from api.cli.options import tenant as of_tenant
from api.cli.output import document
from api.installation import Installation
from application.access.people import WantedPerson
from domain.access.roles import Role

_KEY: Final = argument("key", metavar="NAME|ID")
_ROLES: Final = click.Choice([each.value for each in Role])


@group
def people() -> None:
    r"""Keep the people who sign in to the panel.

    Whatever changes what somebody may do ends their sessions.  A password is read from
    a prompt or from standard input, never from an argument.

    \b
    Examples:
      counterfoil people add grace --role owner --reason "runs the shop"
      counterfoil people list
      counterfoil people disable grace --reason "has left"
    """


@command
@argument("name")
@option("--role", required=True, type=_ROLES, help="What they may.")
@option(
    "--tenant",
    default="default",
    show_default=True,
    help="Whose records they see and change.",
)
@reasoned
@as_json
@click.pass_obj
def add(  # noqa: PLR0913 - the options of the command, one to one
    installation: Installation,
    *,
    name: str,
    role: str,
    tenant: str,
    reason: str,
    as_json: bool,
) -> None:
    r"""Add somebody, with a password that is read from a prompt or standard input.

    NAME is what they sign in by and what the log calls them; it is one person's in the
    whole installation.

    \b
    Examples:
      counterfoil people add grace --role owner --reason "runs the shop"
      pass show grace | counterfoil people add grace --role viewer --reason "audits"
    """
    instruction = instruction_of(reason)
    wanted = WantedPerson(
        tenant_id=tenant, name=name, role=role, password=password_given()
    )
    with installation.open() as services:
        kept = services.access.people.add(wanted, instruction)
    document(kept) if as_json else tell_person(kept)


@command
@of_tenant
@as_json
@click.pass_obj
def list_people(
    installation: Installation, *, tenant: str | None, as_json: bool
) -> None:
    r"""Show who may sign in, with their roles, and in how many places they have.

    \b
    Examples:
      counterfoil people list
    """
    with installation.open() as services:
        found = services.access.people.all(tenant)
    document({"people": found}) if as_json else show_people(found)


@command
@_KEY
@argument("role", type=_ROLES)
@reasoned
@as_json
@click.pass_obj
def set_role(
    installation: Installation, *, key: str, role: str, reason: str, as_json: bool
) -> None:
    r"""Give somebody another role; it counts from their next request.

    They have to sign in anew.

    \b
    Examples:
      counterfoil people role grace auditor --reason "audits from now on"
    """
    instruction = instruction_of(reason)
    with installation.open() as services:
        kept = services.access.people.set_role(_plain(key), role, instruction)
    document(kept) if as_json else tell_person(kept)


@command
@_KEY
@reasoned
@as_json
@click.pass_obj
def disable(
    installation: Installation, *, key: str, reason: str, as_json: bool
) -> None:
    r"""Let somebody sign in no more; their sessions are over at once.

    \b
    Examples:
      counterfoil people disable grace --reason "has left"
    """
    _switch(installation, key, reason, disabled=True, as_json=as_json)


@command
@_KEY
@reasoned
@as_json
@click.pass_obj
def enable(installation: Installation, *, key: str, reason: str, as_json: bool) -> None:
    r"""Let somebody who was disabled sign in again.

    \b
    Examples:
      counterfoil people enable grace --reason "is back"
    """
    _switch(installation, key, reason, disabled=False, as_json=as_json)


@command
@_KEY
@reasoned
@as_json
@click.pass_obj
def password(
    installation: Installation, *, key: str, reason: str, as_json: bool
) -> None:
    r"""Give somebody another password, read from a prompt or standard input.

    Their sessions are over.

    \b
    Examples:
      counterfoil people password grace --reason "forgot it"
    """
    instruction, given = instruction_of(reason), password_given()
    with installation.open() as services:
        kept = services.access.people.set_password(_plain(key), given, instruction)
    document(kept) if as_json else tell_person(kept)


def _switch(
    installation: Installation, key: str, reason: str, *, disabled: bool, as_json: bool
) -> None:
    instruction = instruction_of(reason)
    with installation.open() as services:
        kept = services.access.people.set_disabled(
            _plain(key), instruction, disabled=disabled
        )
    document(kept) if as_json else tell_person(kept)


def _plain(key: str) -> str:
    return key.removeprefix("usr_")


for _name, _command in (
    ("add", add),
    ("list", list_people),
    ("role", set_role),
    ("disable", disable),
    ("enable", enable),
    ("password", password),
):
    people.add_command(_command, _name)
