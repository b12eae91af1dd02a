"""The adapters that this version has, by the names that `goods_providers` stores."""

from typing import Final

from application.goods.port import GoodsProvider
from application.providers.credential import Credential
from infrastructure.providers.goods import fragment, idempotent
from infrastructure.providers.goods.wire import GoodsWire

FRAGMENT: Final = "fragment"
IDEMPOTENT: Final = "idempotent"
ADAPTERS: Final = (FRAGMENT, IDEMPOTENT)


def build_adapter(adapter: str, credential: Credential) -> GoodsProvider | None:
    """Return a provider reached by that credential; None: there is no such adapter."""
    base_url, token = credential.base_url, credential.token
    match adapter:
        case "fragment":
            wire = GoodsWire(base_url, fragment.authorization(token))
            return fragment.FragmentGateway(wire)
        case "idempotent":
            wire = GoodsWire(base_url, idempotent.authorization(token))
            return idempotent.IdempotentProvider(wire)
        case _:
            return None
