"""The table of providers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, cast

from application.providers.book import Provider, Standing
from application.providers.sealing import Sealed
from infrastructure.postgres.database import Connection
from infrastructure.postgres.heads.table import (
    maybe_instant,
    maybe_text,
    number,
    text,
    truth,
)

if TYPE_CHECKING:
    from datetime import timedelta

_READ: Final = """
SELECT tenant_id, slug, adapter, is_enabled, base_url, currency, credential,
       credential_key, credential_at
  FROM counterfoil.goods_providers
 WHERE tenant_id = %(tenant_id)s
   AND slug = %(slug)s
"""

_READ_ALL: Final = """
SELECT tenant_id, slug, adapter, is_enabled, base_url, currency, credential,
       credential_key, credential_at
  FROM counterfoil.goods_providers
 ORDER BY tenant_id, slug
"""

_LOCK: Final = """
SELECT 1
  FROM counterfoil.goods_providers
 WHERE tenant_id = %(tenant_id)s
   AND slug = %(slug)s
   FOR UPDATE
"""

# What an older database may have lost purchases of is looked up there as well.
_USE: Final = """
SELECT (SELECT count(*)
          FROM counterfoil.deliveries d
         WHERE d.tenant_id = p.tenant_id
           AND d.provider = p.slug
           AND (d.state IN ('submitted', 'needs_review')
                OR (d.state IN ('pending', 'failed') AND d.restored_at IS NOT NULL))),
       EXISTS (SELECT 1
                 FROM counterfoil.deliveries d
                WHERE d.tenant_id = p.tenant_id
                  AND d.provider = p.slug),
       counterfoil.now() - p.disabled_at,
       NOT EXISTS (SELECT 1 FROM counterfoil.restore_guard g WHERE g.state = 'open')
  FROM counterfoil.goods_providers p
 WHERE p.tenant_id = %(tenant_id)s
   AND p.slug = %(slug)s
"""

_INSERT: Final = """
INSERT INTO counterfoil.goods_providers
       (tenant_id, slug, adapter, is_enabled, base_url, currency, credential,
        credential_key, credential_at)
VALUES (%(tenant_id)s, %(slug)s, %(adapter)s, %(is_enabled)s, %(base_url)s,
        %(currency)s, %(content)b, %(key)s,
        CASE WHEN %(is_given)s THEN counterfoil.now() END)
"""

_UPDATE: Final = """
UPDATE counterfoil.goods_providers
   SET adapter = %(adapter)s, is_enabled = %(is_enabled)s, base_url = %(base_url)s,
       currency = %(currency)s, credential = %(content)b, credential_key = %(key)s,
       credential_at =
           CASE WHEN %(is_given)s THEN counterfoil.now() ELSE credential_at END,
       updated_at = counterfoil.now()
 WHERE tenant_id = %(tenant_id)s
   AND slug = %(slug)s
"""


def lock_provider(connection: Connection, tenant_id: str, slug: str) -> None:
    """Let nobody else change a provider before the transaction ends."""
    connection.execute(_LOCK, {"tenant_id": tenant_id, "slug": slug})


def read_provider(connection: Connection, tenant_id: str, slug: str) -> Provider | None:
    """Return one provider."""
    key = {"tenant_id": tenant_id, "slug": slug}
    row = connection.execute(_READ, key, binary=True).fetchone()
    return None if row is None else _provider(row)


def read_providers(connection: Connection) -> tuple[Provider, ...]:
    """Return all of them, by tenant and slug."""
    rows = connection.execute(_READ_ALL, binary=True).fetchall()
    return tuple(_provider(row) for row in rows)


def read_standing(connection: Connection, provider: Provider) -> Standing:
    """Return how far a locked provider is in use."""
    key = {"tenant_id": provider.tenant_id, "slug": provider.slug}
    (row,) = connection.execute(_USE, key, binary=True).fetchall()
    return Standing(
        provider=provider,
        n_open=number(row[0]),
        is_named=truth(row[1]),
        disabled_for=cast("timedelta | None", row[2]),
        is_quarantined=truth(row[3]),
    )


def write_provider(
    connection: Connection, provider: Provider, *, is_new: bool, is_given: bool
) -> None:
    """Write a provider; `is_given`: its secrets are a person's of this moment."""
    sealed = provider.sealed
    columns = {
        "tenant_id": provider.tenant_id,
        "slug": provider.slug,
        "adapter": provider.adapter,
        "is_enabled": provider.is_enabled,
        "base_url": provider.base_url,
        "currency": provider.currency,
        "content": None if sealed is None else sealed.content,
        "key": None if sealed is None else sealed.key,
        "is_given": is_given,
    }
    connection.execute(_INSERT if is_new else _UPDATE, columns)


def _provider(row: Sequence[object]) -> Provider:
    content, key = cast("bytes | None", row[6]), maybe_text(row[7])
    return Provider(
        tenant_id=text(row[0]),
        slug=text(row[1]),
        adapter=text(row[2]),
        is_enabled=truth(row[3]),
        base_url=maybe_text(row[4]),
        currency=maybe_text(row[5]),
        sealed=None if content is None or key is None else Sealed(key, bytes(content)),
        given_at=maybe_instant(row[8]),
    )
