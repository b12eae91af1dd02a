"""What waits for a person: letters by cause, one by one, and who ended some."""

from dataclasses import dataclass
from typing import Self

from projections.connections import Lend
from projections.queries.letters.asked import AskedLetters
from projections.queries.letters.groups import LetterCauses
from projections.queries.letters.listing import DeadLetters, EndedLetters
from projections.queries.letters.set_aside import SetAsideStreams


@dataclass(frozen=True, slots=True, kw_only=True)
class Letters:
    """All that is asked about dead letters."""

    causes: LetterCauses
    page: DeadLetters
    asked: AskedLetters
    """The same by terms."""
    ended: EndedLetters
    set_aside: SetAsideStreams

    @classmethod
    def over(cls, lend: Lend) -> Self:
        """Return the questions, asked over borrowed connections."""
        return cls(
            causes=LetterCauses(lend),
            page=DeadLetters(lend),
            asked=AskedLetters(lend),
            ended=EndedLetters(lend),
            set_aside=SetAsideStreams(lend),
        )
