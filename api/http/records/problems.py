"""Which problems lists and details may answer, beside those of every route."""

from typing import Final

LIST_PROBLEMS: Final = (
    "invalid_filter",
    "invalid_cursor",
    "position_ahead",
    "projection_behind",
)
DETAIL_PROBLEMS: Final = ("not_found", "position_ahead", "projection_behind")
