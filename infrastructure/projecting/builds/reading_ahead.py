"""The next batch is read and decoded while the present one is folded and written.

A build has one thread that computes and one that waits for the server; half of either's
work would be waited for by the other.  What was read stays true: the log only grows.
"""

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, NamedTuple, Self, override

from infrastructure.log.follower import Batch
from infrastructure.projecting.projector import MOST, Connections, Projector
from projections.read_models.all import AnyProjection

_THREADS: Final = 1


class _Asked(NamedTuple):
    """What a batch was read for."""

    name: str
    after: int
    until: int | None
    most: int


class ReadingAhead(Projector):
    """The projector of one build; of one thread, beside which it has another."""

    def __init__(self, connections: Connections) -> None:
        """Take the connections to borrow: at most two at once."""
        super().__init__(connections)
        self._reader = ThreadPoolExecutor(_THREADS, "reading ahead")
        self._coming: tuple[_Asked, Future[Batch]] | None = None

    def __enter__(self) -> Self:
        """Return itself; `__exit__` waits for what is being read."""
        return self

    def __exit__(self, *_: object) -> None:
        """Read nothing any more."""
        self._reader.shutdown(cancel_futures=True)

    @override
    def batch(
        self,
        projection: AnyProjection,
        after: int,
        *,
        until: int | None = None,
        most: int = MOST,
    ) -> Batch:
        """See `Projector.batch`; what follows it is being read from now on."""
        asked = _Asked(projection.name, after, until, most)
        coming, self._coming = self._coming, None
        if coming is not None and coming[0] == asked:
            found = coming[1].result()
        else:
            found = super().batch(projection, after, until=until, most=most)
        if until is not None and after < found.until < until:
            self._coming = (
                asked._replace(after=found.until),
                self._reader.submit(
                    super().batch, projection, found.until, until=until, most=most
                ),
            )
        return found
