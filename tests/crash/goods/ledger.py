"""The judge: the gateway's own ledger beside the log, in plain SQL.

It imports nothing of the product: neither its rules nor its decoders can hide a
double purchase from it.
"""

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

FOLLOWED = ("reconciled", "review_opened", "delivered", "purchase_submitted")
"""What may come of a purchase whose end nobody knew."""


class Fact(NamedTuple):
    """One event of one delivery."""

    tag: str
    data: dict[str, Any]


class Owed(NamedTuple):
    """One delivery as its head stands."""

    state: str
    provider: str
    purchases: int
    paid_minor: int
    refunded_minor: int | None
    cost_minor: int
    code: str | None
    facts: tuple[Fact, ...]

    def has(self, tag: str) -> bool:
        return any(fact.tag == tag for fact in self.facts)


class Judge:
    """Reads both books, and compares them."""

    def __init__(self, connection: psycopg.Connection[Any], ledger: Path) -> None:
        self.owed = _owed(connection)
        """By order."""
        address = f"{ledger.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True)) as book:
            self.asked = _counted(
                book.execute(
                    "SELECT decision_key, count(*) FROM requests"
                    " WHERE action = 'purchase' GROUP BY 1"
                )
            )
            self.bought = _counted(
                book.execute("SELECT decision_key, count(*) FROM effects GROUP BY 1")
            )
            self.paid = _counted(
                book.execute(
                    "SELECT decision_key, sum(amount_minor) FROM effects GROUP BY 1"
                )
            )
            self.lied = {
                _order(row[0])
                for row in book.execute(
                    "SELECT decision_key FROM requests WHERE fault LIKE 'lie_%'"
                )
            }

    def effects(self, order: str) -> int:
        """Return how often the gateway has handed over goods of that order."""
        return sum(n for key, n in self.bought.items() if _order(key) == order)

    def judge(self) -> None:
        """Fail unless nothing was bought twice, and both books tell the same."""
        submitted, withdrawn = self._submissions()
        assert max(self.bought.values(), default=0) <= 1, "an effect per decision (I2)"
        assert self.asked.keys() <= submitted.keys(), "asked without a record"
        for key, n in self.asked.items():
            assert n <= submitted[key] - withdrawn[key], f"{key}: asked too often (I3)"
        for order, owed in self.owed.items():
            self._judge_one(order, owed)
        self._judge_money()

    def _judge_one(self, order: str, owed: Owed) -> None:
        effects, tags = self.effects(order), [fact.tag for fact in owed.facts]
        told = f"{order} {owed.provider} {owed.state} {owed.code}: {tags}"
        n_submitted = tags.count("purchase_submitted")
        n_withdrawn = tags.count("purchase_withdrawn")
        assert n_submitted - n_withdrawn == owed.purchases <= 6, told
        assert effects <= 1 or owed.has("review_decided"), f"bought twice: {told}"
        assert owed.state in {"delivered", "refunded", "needs_review", "failed"}, told
        if order not in self.lied:
            if owed.state == "delivered":
                assert effects >= 1, f"delivered, but not bought: {told}"
            if owed.state in {"refunded", "failed"}:
                assert effects == 0, f"refunded, but bought: {told}"
        _judge_unknowns(owed, told)

    def _judge_money(self) -> None:
        total = Counter[str]()
        for owed in self.owed.values():
            total[owed.state] += owed.paid_minor
            given_back = owed.paid_minor if owed.state == "refunded" else None
            assert owed.refunded_minor == given_back
        assert sum(total.values()) == sum(
            each.paid_minor for each in self.owed.values()
        )
        for key, amount in self.paid.items():
            assert amount == self.owed[_order(key)].cost_minor, key

    def _submissions(self) -> tuple[Counter[str], Counter[str]]:
        submitted, withdrawn = Counter[str](), Counter[str]()
        for owed in self.owed.values():
            keys: dict[int, str] = {}
            for fact in owed.facts:
                if fact.tag == "purchase_submitted":
                    keys[fact.data["decision"]] = fact.data["key"]
                    submitted[fact.data["key"]] += 1
                elif fact.tag == "purchase_withdrawn":
                    withdrawn[keys[fact.data["decision"]]] += 1
        return submitted, withdrawn


def _judge_unknowns(owed: Owed, told: str) -> None:
    """Fail unless each unknown went on; at a blind provider to a person alone."""
    for n, fact in enumerate(owed.facts):
        if fact.tag != "purchase_unknown":
            continue
        after = [each.tag for each in owed.facts[n + 1 :]]
        assert set(after) & set(FOLLOWED), f"an unknown was left alone: {told}"
        if owed.provider == "blind":
            until_decided = after[: _index(after, "review_decided")]
            assert "purchase_submitted" not in until_decided, f"bought blindly: {told}"
            assert "refunded" not in until_decided, f"refunded blindly: {told}"


def _index(tags: list[str], tag: str) -> int:
    return tags.index(tag) if tag in tags else len(tags)


def _owed(connection: psycopg.Connection[Any]) -> dict[str, Owed]:
    heads = connection.execute(
        """
        SELECT stream_id, order_stream_id, state, provider, purchases, paid_minor,
               refunded_minor, cost_minor * quantity, code
          FROM counterfoil.deliveries
        """
    ).fetchall()
    facts: dict[object, list[Fact]] = {}
    rows = connection.execute(
        """
        SELECT stream_id, type, data FROM counterfoil.events
         WHERE type LIKE 'goods.%'
         ORDER BY stream_id, version
        """
    )
    for stream_id, tag, data in rows:
        fact = Fact(tag.removeprefix("goods."), data)
        facts.setdefault(stream_id, []).append(fact)
    return {
        str(order): Owed._make([*head, tuple(facts[stream_id])])
        for stream_id, order, *head in heads
    }


def _counted(rows: sqlite3.Cursor) -> Counter[str]:
    return Counter({str(key): n for key, n in rows})


def _order(key: str) -> str:
    return key.split(":")[1]
