"""A day of all the people of a demo: when each begins, and what is told of it."""

from collections.abc import Callable
from dataclasses import dataclass

from infrastructure.demo.figures import Progress
from infrastructure.demo.people.caretaker import NAME, WINDOW_AT, Caretaker
from infrastructure.demo.people.desk import OPERATORS, Desk
from infrastructure.demo.people.script import EARLY
from infrastructure.demo.stage import Stage


@dataclass(slots=True)
class Day:
    """Lets them work once enough customers have bought, and tells of it."""

    desk: Desk
    caretaker: Caretaker
    stage: Stage
    kill_one_more: Callable[[], None]
    have_begun: bool = False
    have_ended: bool = False

    @property
    def is_over(self) -> bool:
        """Whether there is nothing left to do."""
        return self.desk.is_done and self.caretaker.is_done

    def look(self, now: Progress, *, may_close: bool) -> None:
        """Let the people do what they have to; `may_close`: the panel too."""
        if now.settled >= EARLY * len(self.stage.sales):
            self._operate()
        if may_close and now.settled >= WINDOW_AT * len(self.stage.sales):
            self._maintain(now)

    def _operate(self) -> None:
        if self.have_ended:
            return
        if not self.have_begun:
            self.have_begun = True
            self.stage.tell(
                f"operators {' and '.join(OPERATORS)} change what customers have, who "
                "buy meanwhile; somebody edits users at the panel itself"
            )
        self.desk.look()
        if self.desk.is_done:
            self.have_ended = True
            diary = self.desk.diary
            self.stage.tell(
                f"{diary.commands} commands of operators given, "
                f"{len(diary.refunds)} of them refunds; "
                f"{len(diary.edits)} users edited at the panel"
            )

    def _maintain(self, now: Progress) -> None:
        caretaker = self.caretaker
        window = caretaker.diary.window
        if window is None:
            caretaker.open(now)
            self.stage.tell(
                f"{NAME} closes the panel for maintenance; orders are settled on"
            )
        elif caretaker.is_in_window:
            self.kill_one_more()
            if caretaker.has_seen_enough(now):
                caretaker.close()
                self.stage.tell(
                    f"maintenance is over: {window.settled:,} orders were settled "
                    f"meanwhile, {window.held:,} jobs wait and go on within a minute"
                )
        else:
            caretaker.look()
