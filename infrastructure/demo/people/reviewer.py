"""An operator who decides what became of purchases that nobody here knows of.

She looks into the gateway's own ledger, by the key of the purchase, as one would ask a
seller for his statement.  What is not in it was not bought: the customer has his money
back, or, every third time, she has it bought again.
"""

from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from application.operators.deliveries.decide import DecideReview
from application.operators.deliveries.verdict import Said
from application.operators.instruction import instruct
from domain.goods.state import MOST_PURCHASES
from infrastructure.demo.diary import Diary, Verdict
from infrastructure.postgres.database import Connection
from infrastructure.postgres.heads.table import number, text
from infrastructure.simulators.gateway.ledger import open_ledger

NAME: Final = "clara"

_AT_ONCE: Final = 20
"""Reviews between two looks at everything else."""
_AGAIN: Final = 3
_REASON: Final = "statement of the gateway"

# Whoever may still be about to ask bars a decision: she waits until that is known.
_IN_REVIEW: Final = """
SELECT stream_id::text, key, purchases
  FROM counterfoil.deliveries
 WHERE state = 'needs_review' AND senders = '[]'
 LIMIT %s
"""

_HANDED_OVER: Final = "SELECT reference FROM effects WHERE decision_key = ?"


@dataclass(slots=True)
class Reviewer:
    """Decides every review from the ledger."""

    connection: Connection
    ledger: Path
    decide: DecideReview
    diary: Diary
    _absent: int = field(default=0)

    def look(self) -> None:
        """Decide what is in review by now.

        Raises:
            CounterfoilError: a decision was refused.
        """
        rows = self.connection.execute(_IN_REVIEW, (_AT_ONCE,)).fetchall()
        for row in rows:
            self._decide(text(row[0]), text(row[1]), number(row[2]))

    def _decide(self, delivery: str, key: str, purchases: int) -> None:
        reference = self._reference(key)
        verdict = self._verdict(purchases) if reference is None else "delivered"
        evidence = f"{key}: {reference or 'not in the ledger'}"
        said = Said(delivery=delivery, verdict=verdict, evidence=evidence)
        self.decide(said, instruct(NAME, _REASON))
        told = Verdict(operator=NAME, verdict=verdict, key=key, reason=_REASON)
        self.diary.verdicts.append((delivery, told))

    def _verdict(self, purchases: int) -> str:
        self._absent += 1
        may_buy = purchases < MOST_PURCHASES
        return (
            "buy_again" if may_buy and self._absent % _AGAIN == 0 else "not_purchased"
        )

    def _reference(self, key: str) -> str | None:
        with closing(open_ledger(self.ledger)) as ledger:
            row = ledger.execute(_HANDED_OVER, (key,)).fetchone()
        return None if row is None else str(row[0])
