"""What the read models told in a demo: in a few lines, and as a document."""

from collections import Counter
from collections.abc import Mapping

from infrastructure.demo.diary import Answers, Diary

_OPERATION = "fulfillment."


def ends(attempts: Mapping[str, int]) -> dict[str, int]:
    """Return how many attempts were started at the panel, and how they ended."""
    started, *ended = (
        attempts.get(_OPERATION + what, 0)
        for what in (
            "attempt_started", "succeeded", "attempt_failed", "failed", "interrupted",
        )
    )  # fmt: skip
    names = ("succeeded", "failed and repeated", "failed for good", "interrupted")
    return {
        "started": started,
        **dict(zip(names, ended, strict=True)),
        "lost with their worker": started - sum(ended),
    }


def lines(diary: Diary) -> list[tuple[str, str]]:
    """Return what was asked and what was told, for a person."""
    answers, window = diary.answers, diary.window
    if answers is None:
        return []
    started, *ended = ends(answers.attempts).items()
    told = [
        ("how many attempts", f"{started[1]:,}: {_list(dict(ended))}"),
        ("who is dead and why", _list(answers.dead, "nobody")),
    ]
    if window is not None and window.waiting is not None:
        waiting = window.waiting
        of = _list(Counter(waiting.orders.values()))
        told += [
            ("what waited for what", f"{len(waiting.orders):,} orders: {of}"),
            ("  held by the window", f"{len(waiting.held):,} operations of orders"),
        ]
    rows = sum(each.rows for each in answers.compared.values())
    wrong = sum(each.differing for each in answers.compared.values())
    lag = max((each.lag for each in answers.compared.values()), default=0)
    compared = f"{len(answers.compared)} read models, {rows:,} rows"
    return [
        *told,
        ("what waits now", _list(Counter(answers.waiting.values()), "no order")),
        ("beside a fold of the log", f"{compared}: {wrong:,} differ, {lag:,} behind"),
    ]


def document(diary: Diary) -> dict[str, object]:
    """Return all of it, for a program."""
    answers, window = diary.answers, diary.window
    waiting = None if window is None else window.waiting
    return {
        **({} if answers is None else _at_the_end(answers)),
        "waitedInWindow": {}
        if waiting is None
        else {
            "asOf": waiting.first,
            "orders": dict(waiting.orders),
            "held": sorted(waiting.held),
        },
    }


def _at_the_end(answers: Answers) -> dict[str, object]:
    return {
        "asOf": answers.position,
        "attempts": ends(answers.attempts),
        "changes": dict(answers.attempts),
        "dead": dict(answers.dead),
        "waiting": dict(answers.waiting),
        "readModels": {
            name: {
                "rows": each.rows,
                "differing": each.differing,
                "lag": each.lag,
                "terms": each.terms,
            }
            for name, each in answers.compared.items()
        },
    }


def _list(counts: Mapping[str, int], nobody: str = "none") -> str:
    """Return the most frequent first."""
    sorted_ = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{n:,} {what}" for what, n in sorted_ if n) or nobody
