"""Callbacks of every kind, made by a generator: the door of providers surprises nobody.

signed      right, by another secret, for another body, too old, in pieces, not at all
said        what a provider may say, JSON that says nothing, garbage, and too much of it
addressed   to a provider that there is, to one that there is not, to other tenants'
repeated    under the same name, with the same body or another one

make campaign ARGS="-rP tests/http/hooks/test_generated.py"    # thirty times as many
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from api.http.app import described
from application.callbacks.record import LARGEST_BODY_BYTES
from infrastructure.settings import Settings
from tests.callbacks.stage import RING, SECRET, Shop, body_of, configure, signed
from tests.fixtures.database import TestDatabase
from tests.fixtures.http import api_over

pytestmark = pytest.mark.database

CASES, MANY = 60, 2_000
OTHER: Final = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
TENANTS: Final = (None, "default", "acme")
"""That have such a provider."""
PATH: Final = "/v1/hooks/{provider}"
HOOK: Final = schemathesis.openapi.from_dict(described())[PATH]["POST"]
CHECKS: Final = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
JSON: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
HEADER: Final = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E)).map(
    str.strip
)


@dataclass(frozen=True)
class Sent:
    """One callback, and what may become of it."""

    provider: str
    tenant: str | None
    body: bytes
    event: str
    how: str
    """How it is signed: `right`, by an `other` secret, for another `body`, `old`, `odd`
    or `no`."""
    odd: Mapping[str, str]
    """Headers that stand for others."""

    @property
    def is_right(self) -> bool:
        """Whether it is the provider's."""
        is_there = self.provider == "stars" and self.tenant in TENANTS
        is_small = len(self.body) <= LARGEST_BODY_BYTES
        return self.how == "right" and is_there and is_small

    @property
    def headers(self) -> dict[str, str]:
        """What is sent now."""
        if self.how == "no":
            return {}
        at = int(time.time()) - (3_600 if self.how == "old" else 0)
        body = self.body + (b" " if self.how == "body" else b"")
        secret = OTHER if self.how == "other" else SECRET
        return {**signed(body, at, self.event, secret), **self.odd}


def bodies(keys: tuple[str, ...]) -> st.SearchStrategy[bytes]:
    """Return what a provider may say, and what nobody says."""
    said = st.sampled_from(("delivered", "failed", "accepted", "unknown", "\0"))
    more = st.dictionaries(st.text(max_size=8), JSON, max_size=2)
    told = st.builds(
        lambda key, said, more: body_of(key, said, **more),
        st.sampled_from(keys) | st.text(max_size=300),
        said,
        more,
    )
    return st.one_of(
        told,
        told.map(lambda body: body[: len(body) // 2]),
        JSON.map(lambda value: body_of("k", "delivered", reference=value)),
        st.binary(max_size=200),
        st.sampled_from((b"", b"[" * 5_000, b'{"type":1}', b'"\\ud800"')),
        st.just(b" " * (LARGEST_BODY_BYTES + 1)),
    )


@st.composite
def callbacks(draw: st.DrawFn, keys: tuple[str, ...]) -> Sent:
    """Return any callback."""
    provider = draw(st.sampled_from(("stars", "stars", "stars", "moon", "fr/om?", "é")))
    tenant = draw(st.sampled_from((None, None, "default", "acme", "nobody", "\0", "")))
    body = draw(bodies(keys))
    event = draw(st.sampled_from(("evt_1", "evt_2")) | st.uuids().map(str))
    how = draw(st.sampled_from(("right", "right", "other", "body", "old", "odd", "no")))
    names = st.sampled_from(("Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"))
    odd = draw(st.dictionaries(names, HEADER, min_size=1)) if how == "odd" else {}
    return Sent(provider, tenant, body, event, how, odd)


def sent_by(client: httpx.Client, sent: Sent) -> httpx.Response:
    query = "" if sent.tenant is None else f"?tenant={quote(sent.tenant, safe='')}"
    path = f"/v1/hooks/{quote(sent.provider, safe='')}{query}"
    return client.post(path, content=sent.body, headers=sent.headers)


def ask(database: TestDatabase, folder: Path, n: int) -> int:
    """Send `n` callbacks, some of them twice; return how many in all."""
    connection, asked = database.connect(), 0
    taken: dict[tuple[str, str], bytes] = {}
    for tenant in ("default", "acme"):
        configure(connection, tenant_id=tenant)
    settings_ = Settings(
        data_encryption_keys=RING, rate_limit_burst=10**8, rate_limit_hour=10**8
    )
    with api_over(database, folder, settings_) as api:
        shop = Shop.over(connection, api.services.database, folder)
        client = api.stack.enter_context(httpx.Client(base_url=api.address))
        keys = tuple(shop.key(shop.bought()) for _ in range(3))

        @given(
            sent=callbacks((*keys, "goods:x:1:1")),
            times=st.sampled_from((1, 1, 2)),
        )
        @settings(
            max_examples=n,
            database=None,
            deadline=None,
            derandomize=True,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def once(sent: Sent, times: int) -> None:
            nonlocal asked
            before: httpx.Response | None = None
            for _ in range(times):
                asked += 1
                answer = sent_by(client, sent)
                judge(sent, answer, before, taken)
                before = answer

        once()
    return asked


def judge(
    sent: Sent,
    answer: httpx.Response,
    before: httpx.Response | None,
    taken: dict[tuple[str, str], bytes],
) -> None:
    """Fail unless it is answered as the contract says, and as it deserves.

    `taken` holds the body of each callback that was, by its tenant and name.
    """
    case: Any = HOOK.Case(path_parameters={"provider": "stars"}, body=b"")
    case.validate_response(answer, checks=CHECKS)
    told = answer.json()
    if sent.is_right:
        known = taken.setdefault((sent.tenant or "default", sent.event), sent.body)
        # A name is another callback's for ever.
        was_right = known == sent.body
        assert (answer.status_code == HTTPStatus.OK) is was_right, answer.text
        assert was_right or told["code"] == "callback_rejected"
    else:
        assert answer.status_code != HTTPStatus.OK, "nobody has signed what was taken"
    if before is not None:
        assert answer.status_code == before.status_code
        was_taken = before.json() in ({"status": "accepted"}, {"status": "duplicate"})
        assert was_taken is (answer.status_code == HTTPStatus.OK)


def test_no_callback_surprises_the_api(database: TestDatabase, tmp_path: Path) -> None:
    assert ask(database, tmp_path, CASES) >= CASES


@pytest.mark.campaign
@pytest.mark.timeout(3600)
def test_no_callback_surprises_the_api_for_long(
    database: TestDatabase, tmp_path: Path
) -> None:
    print(f"cases: {ask(database, tmp_path, MANY)}")  # noqa: T201 - of the report
