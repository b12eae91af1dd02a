"""What came of a person's word, in a sentence."""

from api.cli.output import say
from application.operators.deliveries.decide import Decided
from application.operators.deliveries.reconcile import Asked

_WHAT = {
    "delivered": "delivered: the recipient has it",
    "not_purchased": "refunded: the customer gets back what he paid",
    "buy_again": "bought again, under a new key",
}


def tell_decided(decided: Decided) -> None:
    """Write where the delivery stands, and that it was so already."""
    again = "" if decided.events else "nothing to do: it is so already; "
    if decided.proposed_by is not None:
        say(
            f"{again}proposed by {decided.proposed_by}: another person has to agree, "
            "by the same command"
        )
        return
    job = "" if decided.job_id is None else f" (job {decided.job_id})"
    what = _WHAT[decided.verdict or ""] if decided.events else f"it is {decided.state}"
    say(f"{again}{what}{job}")


def tell_asked(asked: Asked) -> None:
    """Write which job asks, and that it was asked for already."""
    again = "asked for already" if asked.replayed else "the provider is asked"
    say(
        f"{again}: job {asked.job_id}",
        f"its answer: `counterfoil deliveries show {asked.delivery_id}`",
    )
