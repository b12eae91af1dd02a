"""The group `deliveries`, with what a person may do about goods."""

from uuid import UUID

import rich_click as click

from api.cli.deliveries.listing import list_deliveries
from api.cli.deliveries.shown import show_dossier, tell_dossier
from api.cli.deliveries.told import tell_asked, tell_decided
from api.cli.operating import instruction_of, reasoned
from api.cli.options import argument, as_json, command, group, option
from api.cli.output import document
from api.installation import Installation
from application.errors import NotFoundError
from application.operators.deliveries.decide import (
    LONGEST_EVIDENCE,
    SHORTEST_EVIDENCE,
)
from application.operators.deliveries.verdict import Said
from domain.goods.review import VERDICTS


@group
def deliveries() -> None:
    r"""List goods that are owed, look at the evidence, and decide reviews.

    Goods are bought of a provider with your money, at most once for each decision to
    buy.  Where nobody here can know whether something was bought, the delivery waits
    in review: you find out, and say what became of it.

    \b
    Step by step:
      counterfoil deliveries list                 what waits for a person
      counterfoil deliveries show ID              all that is known, and what you may do
      counterfoil deliveries reconcile ID         ask the provider; never buys
      counterfoil deliveries decide ID VERDICT    delivered, not_purchased or buy_again

    What was never submitted, or has failed, is ended by `counterfoil cancel ID` (the
    money goes back) and revived by `counterfoil retry ID`.
    """


@command
@argument("key", metavar="ID")
@as_json
@click.pass_obj
def show(installation: Installation, key: str, *, as_json: bool) -> None:
    r"""Show everything that is known of one delivery, and what you may do now.

    What was asked of the provider, when, by which process and under which key; what it
    answered; who may still be about to ask; what people have said.  The recipient is
    shown here and nowhere else.

    \b
    Examples:
      counterfoil deliveries show 01a229c8-15d6-7b9a-a414-da3f4ad17f77
    """
    with installation.open() as services:
        delivery_id = _id(key)
        found = None if delivery_id is None else services.queries.dossier(delivery_id)
        four_eyes = services.decide.four_eyes
    if found is None:
        what = "delivery"
        told = f"{key}; `counterfoil deliveries list --all` lists them"
        raise NotFoundError(what, told)
    if as_json:
        document(tell_dossier(found, four_eyes=four_eyes))
    else:
        show_dossier(found, four_eyes=four_eyes)


def _id(key: str) -> UUID | None:
    try:
        return UUID(key.strip())
    except ValueError:
        return None


@command
@argument("key", metavar="ID")
@argument("verdict", type=click.Choice(VERDICTS))
@option(
    "--evidence",
    required=True,
    metavar="TEXT",
    help=f"What shows it, in {SHORTEST_EVIDENCE} to {LONGEST_EVIDENCE:,} characters: a "
    "statement of the provider, a receipt, the recipient's word.  It stays in the log.",
)
@option(
    "--version",
    type=click.IntRange(1),
    metavar="N",
    help="Only if nothing has happened since version N, as `show` told it.",
)
@option(
    "--override",
    is_flag=True,
    help="Take it on yourself that a process may still be about to buy.",
)
@reasoned
@as_json
@click.pass_obj
def decide(  # noqa: PLR0913 - the options of the command, one to one
    installation: Installation,
    *,
    key: str,
    verdict: str,
    evidence: str,
    version: int | None,
    override: bool,
    reason: str,
    as_json: bool,
) -> None:
    r"""Say what became of a purchase whose end nobody here knows.

    \b
    delivered      the recipient has it
    not_purchased  nothing was bought: the customer gets back what he paid
    buy_again      nothing was bought: buy under a new key, if a purchase is left

    The last two are barred while a process that has asked the provider is not known to
    be dead: it might buy after all.  --override takes that on you, and is recorded.
    With COUNTERFOIL_FOUR_EYES buying again needs two people: the first one proposes,
    another one gives the same command and so agrees.  The same word of the same person
    about the same evidence once more changes nothing.

    \b
    Examples:
      counterfoil deliveries decide 01a229c8-15d6-7b9a-a414-da3f4ad17f77 delivered \
        --evidence "provider's ledger, entry 7741" --reason "case 12" --version 4
    """
    instruction = instruction_of(reason)
    said = Said(
        delivery=key,
        verdict=verdict,
        evidence=evidence,
        is_override=override,
        versions=None if version is None else frozenset({version}),
    )
    with installation.open() as services:
        decided = services.decide(said, instruction)
    document(decided) if as_json else tell_decided(decided)


@command
@argument("key", metavar="ID")
@reasoned
@as_json
@click.pass_obj
def reconcile(
    installation: Installation, key: str, *, reason: str, as_json: bool
) -> None:
    r"""Ask the provider what became of a purchase; never buys.

    A worker asks, within moments; `deliveries show` tells the answer.  Refused when
    the provider cannot be asked, or there is nothing that it could tell.

    \b
    Examples:
      counterfoil deliveries reconcile 01a229c8-15d6-7b9a-a414-da3f4ad17f77 \
        --reason "its answer was lost"
    """
    instruction = instruction_of(reason)
    with installation.open() as services:
        asked = services.reconcile_delivery(key, instruction)
    document(asked) if as_json else tell_asked(asked)


for _command, _name in (
    (list_deliveries, "list"),
    (show, "show"),
    (decide, "decide"),
    (reconcile, "reconcile"),
):
    deliveries.add_command(_command, _name)
