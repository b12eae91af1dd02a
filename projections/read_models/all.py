"""Every projection of the product: the only list of them."""

from collections.abc import Mapping
from typing import Any, Final

from projections.read_models.jobs import Jobs
from projections.read_models.projection import Projection

type AnyProjection = Projection[Any]
"""A projection, whatever its rows are."""

ALL: Final[tuple[AnyProjection, ...]] = (Jobs(),)

BY_NAME: Final[Mapping[str, AnyProjection]] = {each.name: each for each in ALL}
