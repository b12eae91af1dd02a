"""One delivery in a hostile world: whatever happens, nothing is bought twice.

The world is everything that the rules cannot see: processes that freeze just before
they write to the socket, requests that are on their way, a provider with a book of
its own and a clock that is behind ours, answers that get lost, and a person who looks
into that book and overrides nothing.  The rules see what is recorded, and nothing else.
"""

from contextlib import suppress
from datetime import datetime, timedelta
from random import Random

import msgspec
import pytest

from domain.goods.aggregate import decide, fold
from domain.goods.commands import (
    Accept,
    Confirm,
    EndSender,
    Fail,
    GoodsCommand,
    LoseTrack,
    OpenReview,
    Reconcile,
    Refuse,
    Submit,
)
from domain.goods.errors import BarredError, PurchasesSpentError
from domain.goods.resolution import (
    Buy,
    Facts,
    Finding,
    LookUp,
    Lose,
    Nothing,
    Repeat,
    Review,
    WaitUntil,
    after_absence,
    backoff,
    found_of,
    next_step,
)
from domain.goods.state import (
    FINAL,
    MOST_PURCHASES,
    GoodsDelivery,
    Stage,
    Standing,
    key_of,
)
from tests.domain.goods.deliveries import AT, ORDER, owed, says, sender

CALL = timedelta(minutes=2)
CLASSES = ("retryable", "provider_balance", "permanent")
MOODS = ("bought", "bought", "bought", "accepted", *CLASSES)


WALKS = 250
STEPS = 60


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    """What a provider does with requests, and what it says of itself."""

    name: str
    facts: Facts
    key_lifetime: timedelta | None = None


BLIND = Provider(name="blind", facts=Facts())
TELLING = Provider(
    name="telling", facts=Facts(can_look_up=True, is_lookup_authoritative=True)
)
EXPIRING = Provider(
    name="expiring",
    facts=Facts(
        can_look_up=True, is_lookup_authoritative=True, expiry=timedelta(minutes=10)
    ),
)
REPEATING = Provider(name="repeating", facts=Facts(), key_lifetime=timedelta(days=30))
BOTH = Provider(
    name="both",
    facts=Facts(can_look_up=True, is_lookup_authoritative=True),
    key_lifetime=timedelta(days=30),
)


PROVIDERS = (BLIND, TELLING, EXPIRING, REPEATING, BOTH)


class Request(msgspec.Struct, kw_only=True):
    """One request, from its record to its arrival."""

    pid: int
    decision: int
    purchase: int
    key: str
    deadline: datetime
    expires_at: datetime | None
    is_alive: bool = True
    is_written: bool = False
    answer: str | None = None


class World:
    """Any order of what processes, the provider, a person and time may do."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.provider = random.choice(PROVIDERS)
        self.behind = timedelta(seconds=random.randint(0, 60))
        self.now = AT
        self.pids = 0
        self.delivery: GoodsDelivery = owed()
        self.requests: list[Request] = []
        self.effects: list[str] = []
        self.refusals: dict[str, str] = {}
        self.taken: set[str] = set()
        """Keys of what the provider has accepted, and not ended yet."""
        self.holder: Request | None = None
        self.written = 0

    # ------------------------------------------------------------------ processes

    def run(self) -> None:
        """The job is claimed, and does what is next."""
        if self.holder is not None:
            return
        step = next_step(self.delivery, self.provider.facts, self.now)
        match step:
            case Buy() | Repeat():
                self._submit()
            case Lose():
                self._record(LoseTrack(code="lease_lost", is_sender_gone=False))
            case LookUp():
                self._look_up(step)
            case Review(code):
                self._record(OpenReview(code))
            case WaitUntil() | Nothing():
                pass

    def _submit(self) -> None:
        self.pids += 1
        expiry, lifetime = self.provider.facts.expiry, self.provider.key_lifetime
        before = self.delivery
        self._record(
            Submit(
                at=self.now,
                token=self.pids,
                deadline=self.now + CALL,
                expires_at=None if expiry is None else self.now + expiry,
                repeat_until=None if lifetime is None else self.now + lifetime,
                sender=sender(self.pids),
            )
        )
        assert self.delivery.purchases == before.purchases + 1
        self.holder = Request(
            pid=self.pids,
            decision=self.delivery.decision,
            purchase=self.delivery.purchases,
            key=str(self.delivery.key),
            deadline=self.now + CALL,
            expires_at=self.delivery.expires_at,
        )
        self.requests.append(self.holder)

    def _look_up(self, step: LookUp) -> None:
        findings = [self._said_of(decision) for decision in step.decisions]
        told = found_of(self.delivery, findings)
        self._record(
            Reconcile(
                decision=told.decision,
                found=told.found,
                reference=None,
                code=None,
                is_conclusive=step.is_conclusive,
                next_at=self.now,
                failure_class=told.failure_class,
            )
        )
        if told.found == "absent" and self.delivery.stage is Stage.SUBMITTED:
            follow = after_absence(self.delivery, self.provider.facts, self.now)
            if isinstance(follow, Repeat):
                self._submit()
            elif isinstance(follow, Review):
                self._record(OpenReview(follow.code))

    def _said_of(self, decision: int) -> Finding:
        key = key_of(ORDER, self.delivery.line, decision)
        if key in self.effects:
            return Finding(decision=decision, found="delivered")
        if key in self.taken:
            return Finding(decision=decision, found="accepted", reference="R")
        if key in self.refusals:
            refused = self.refusals[key]
            return Finding(decision=decision, found="refused", failure_class=refused)
        return Finding(decision=decision, found="absent")

    def answered(self) -> None:
        """The answer comes in time, and is recorded by who has asked."""
        holder = self.holder
        if holder is None or not holder.is_alive or holder.answer is None:
            return
        decision = holder.decision
        match holder.answer:
            case "bought":
                self._record(Confirm(decision=decision, reference=None))
            case "accepted":
                self._record(
                    Accept(
                        decision=decision,
                        reference="R",
                        next_at=self.now,
                        is_answer=True,
                    )
                )
            case refused:
                self._record(
                    Refuse(
                        decision=decision,
                        failure_class=refused,
                        code="no",
                        next_at=self.now + backoff(holder.purchase, CALL),
                        is_answer=True,
                    )
                )
        self._over(holder)

    def times_out(self) -> None:
        """Who has asked waits no longer; what he wrote may still arrive."""
        holder = self.holder
        if holder is not None and holder.is_written and holder.is_alive:
            self._record(LoseTrack(code="timeout", is_sender_gone=True, at=self.now))
            self._over(holder)

    def lease_lost(self) -> None:
        """Nobody hears of who has asked; he may be frozen, or dead."""
        if self.holder is None:
            return
        self._record(LoseTrack(code="lease_lost", is_sender_gone=False))
        self.holder = None

    def _over(self, request: Request) -> None:
        request.is_alive = request.is_alive and not request.is_written
        self.holder = None

    def dies(self) -> None:
        """A process is killed: what it had not written it never will."""
        if self.requests:
            self.random.choice(self.requests).is_alive = False

    def is_proved_dead(self) -> None:
        if self.requests and self.delivery.stage not in FINAL:
            request = self.random.choice(self.requests)
            if not request.is_alive:
                self._record(
                    EndSender(
                        sender=sender(request.pid), how="process_gone", at=self.now
                    )
                )

    def writes(self) -> None:
        """Somebody, perhaps long frozen, writes his request to the socket."""
        waiting = [
            each for each in self.requests if each.is_alive and not each.is_written
        ]
        if waiting:
            self.random.choice(waiting).is_written = True
            self.written += 1

    def job_dies(self) -> None:
        if self.holder is None and self.delivery.stage in {
            Stage.PENDING,
            Stage.SUBMITTED,
        }:
            self._record(Fail("budget_spent"))

    # ------------------------------------------------------------------- provider

    def arrives(self) -> None:
        """A request reaches the provider, which is in one mood or another."""
        on_the_way = [
            each for each in self.requests if each.is_written and each.answer is None
        ]
        if on_the_way:
            self._arrive(self.random.choice(on_the_way), self.random.choice(MOODS))

    def _arrive(self, request: Request, mood: str) -> None:
        """Decide about one request, as the provider promises."""
        at, key = self.now - self.behind, request.key
        is_keyed = self.provider.key_lifetime is not None
        if (
            self.provider.facts.expiry
            and request.expires_at
            and at > request.expires_at
        ):
            request.answer = "retryable"
        elif is_keyed and key in self.effects:
            request.answer = "bought"
        elif is_keyed and key in self.refusals:
            request.answer = self.refusals[key]
        elif mood in CLASSES:
            # A provider that is busy has not so much as read the key.
            request.answer = mood
            if mood == "permanent" and self.provider.facts.can_look_up:
                self.refusals[key] = mood
        elif mood == "accepted" and (is_keyed and key in self.taken):
            request.answer = mood
        elif mood == "accepted":
            self.taken.add(key)
            request.answer = mood
        else:
            self.taken.discard(key)
            self.effects.append(key)
            request.answer = mood

    def completes(self) -> None:
        """What was accepted is delivered, or fails, and whoever asks is told."""
        if not self.taken:
            return
        key = self.random.choice(sorted(self.taken))
        self.taken.remove(key)
        if self.random.random() < 1 / 2:
            self.effects.append(key)
        else:
            self.refusals[key] = self.random.choice(CLASSES)

    def calls_back(self) -> None:
        """The provider tells by itself what it has bought."""
        if self.effects and self.delivery.stage not in FINAL:
            key = self.random.choice(self.effects)
            decision = int(key.rpartition(":")[2])
            self._record(Confirm(decision=decision, reference=None))

    # ---------------------------------------------------------------- person, time

    def decides(self) -> None:
        """A person reads the provider's book, and tries what is barred as well."""
        if self.delivery.stage is not Stage.NEEDS_REVIEW or self._on_the_way():
            return
        if self.taken:
            return  # the provider says that it is not over yet
        if self.effects:
            self._record(says("delivered"))
        else:
            verdict = self.random.choice(["buy_again", "not_purchased"])
            with suppress(BarredError, PurchasesSpentError):
                self._record(says(verdict))

    def _on_the_way(self) -> bool:
        return any(each.is_written and each.answer is None for each in self.requests)

    def time_passes(self) -> None:
        """What was written arrives meanwhile; who is frozen stays so."""
        self.now += timedelta(minutes=self.random.choice([1, 3, 12, 40]))
        for request in self.requests:
            if request.is_written and request.answer is None:
                self._arrive(request, self.random.choice(MOODS))

    # --------------------------------------------------------------------- promises

    def _record(self, command: GoodsCommand) -> None:
        events = decide(self.delivery, command)
        assert self.delivery.stage not in FINAL or not events
        self.delivery = fold(events, self.delivery)

    def check(self) -> None:
        self.i2_nothing_is_bought_twice()
        self.money_goes_back_only_for_what_is_not_bought()
        self.i3_the_provider_is_asked_at_most_as_often_as_the_ledger_says()
        self.what_is_called_certain_is()

    def i2_nothing_is_bought_twice(self) -> None:
        """Not under one key, and not under two: nobody has overridden anything."""
        assert len(self.effects) <= 1

    def money_goes_back_only_for_what_is_not_bought(self) -> None:
        delivery = self.delivery
        if delivery.stage in {Stage.REFUNDED, Stage.CANCELLED, Stage.FAILED}:
            assert self.effects == []
        if delivery.stage is Stage.DELIVERED:
            assert len(self.effects) == 1

    def i3_the_provider_is_asked_at_most_as_often_as_the_ledger_says(self) -> None:
        assert self.written <= self.delivery.purchases <= MOST_PURCHASES

    def what_is_called_certain_is(self) -> None:
        if self.delivery.standing is Standing.NONE and self.holder is None:
            assert self.effects == [] or self.delivery.stage is Stage.DELIVERED


ACTIONS = {
    World.run: 8,
    World.writes: 6,
    World.arrives: 6,
    World.answered: 5,
    World.times_out: 1,
    World.lease_lost: 3,
    World.dies: 1,
    World.is_proved_dead: 2,
    World.job_dies: 0.2,
    World.calls_back: 0.3,
    World.completes: 3,
    World.decides: 4,
    World.time_passes: 4,
}


@pytest.mark.parametrize("tens", range(8))
def test_i2_whatever_happens_nothing_is_bought_twice(tens: int) -> None:
    for seed in range(WALKS * tens, WALKS * (tens + 1)):
        world = World(Random(seed))  # noqa: S311 - not for secrets
        chosen = world.random.choices(
            list(ACTIONS), weights=list(ACTIONS.values()), k=STEPS
        )
        for n, action in enumerate(chosen):
            action(world)
            try:
                world.check()
            except AssertionError as error:
                path = [each.__name__ for each in chosen[: n + 1]]
                error.add_note(f"seed {seed}, {world.provider.name}: {path}")
                raise
