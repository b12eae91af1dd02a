"""Shops that send orders over HTTP, however often they are not answered."""

import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from deploy.trial.asking import Answer, Caller
from deploy.trial.orders import Order
from deploy.trial.world import TrialError

_CLIENTS: Final = 4
_PAUSE_SECONDS: Final = 1.0
"""Between two orders of one client: what is killed meanwhile is killed under way."""
_SETTLE: Final = "/v1/orders/settle"
_REUSED: Final = "idempotency_key_reused"
_FULFILLED: Final = "fulfilled"

type Ids = dict[str, str]
"""Of orders, by the shop's own."""


@dataclass(frozen=True, slots=True)
class Shops:
    """Several of them at once, each with customers of its own."""

    caller: Caller
    repeated: Collection[str]
    """Orders that are sent twice, one right after the other."""
    pause_seconds: float = _PAUSE_SECONDS

    def send(self, sent: Sequence[Order], through: Callable[[int], None]) -> Ids:
        """Settle all orders, and tell after each customer how many orders are through.

        Who comes again does so after the first order, as people do.

        Raises:
            TrialError: an order was refused, or its answer is not what it should be.
        """
        ids: Ids = {}
        with ThreadPoolExecutor(_CLIENTS, thread_name_prefix="shop") as clients:
            customers = groupby(sent, lambda it: it.customer)
            going = [clients.submit(self._buy, list(theirs)) for _, theirs in customers]
            for bought in as_completed(going):
                ids |= bought.result()
                through(len(ids))
        return ids

    def _buy(self, theirs: Sequence[Order]) -> Ids:
        ids: Ids = {}
        for order in theirs:
            first = self._settle(order).require(202)
            if first.is_replayed and first.tries == 1:
                msg = f"{order.order}: a replay, and nobody has sent it before"
                raise TrialError(msg)
            ids[order.order] = first.body["id"]
            if order.order in self.repeated:
                self._require_the_same(self._settle(order, is_turned=True), ids)
            time.sleep(self.pause_seconds)
        return ids

    def send_again(self, sent: Sequence[Order], ids: Ids) -> None:
        """Send what is fulfilled by now: under the same keys, others, and misused ones.

        Raises:
            TrialError: something was done again, or is not told as it is.
        """
        for order in sent:
            answer = self._settle(order)
            self._require_the_same(answer, ids)
            if answer.body["state"] != _FULFILLED:
                msg = f"{order.order}: answered as it was, not as it is"
                raise TrialError(msg)
        first, second = sent[0], sent[1]
        self._require_the_same(self._settle(first, key="another-key"), ids)
        if self._settle(first, key=_key(second)).require(409).code != _REUSED:
            msg = f"{second.order}: its key was taken for another order"
            raise TrialError(msg)

    def require_fulfilled(self, ids: Ids) -> None:
        """Look at each order, by the shop's own id.

        Raises:
            TrialError: one of them is not fulfilled.
        """
        for order, id_ in ids.items():
            seen = self.caller.ask("GET", f"/v1/orders/{order}").require(200).body
            if (seen["id"], seen["state"]) != (id_, _FULFILLED):
                msg = f"{order}: is {seen['state']}, as {seen['id']}"
                raise TrialError(msg)

    def _settle(
        self, order: Order, *, key: str | None = None, is_turned: bool = False
    ) -> Answer:
        body = order.settlement()
        if is_turned:  # the same members in another order are the same request
            body = dict(reversed(body.items()))
        headers = {"Idempotency-Key": key or _key(order)}
        return self.caller.ask("POST", _SETTLE, body, headers)

    def _require_the_same(self, answer: Answer, ids: Ids) -> None:
        order = answer.require(202).body["orderId"]
        if not answer.is_replayed or answer.body["id"] != ids.get(order):
            msg = f"{order}: sent again, and not answered as the one before"
            raise TrialError(msg)


def _key(order: Order) -> str:
    return f"settle-{order.order}"
