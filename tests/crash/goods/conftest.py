"""Every test here has a market of its own."""

from tests.crash.goods.market import market

__all__ = ["market"]
