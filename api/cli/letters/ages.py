"""Ages, as a person writes them: `90s`, `30m`, `12h`, `7d`."""

import re
from datetime import timedelta
from typing import Final, override

import rich_click as click

_UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_AGE: Final = re.compile(r"(\d{1,6})([smhd])")
_MOST_DAYS: Final = 36_500


class Age(click.ParamType[timedelta]):
    """A number with a unit."""

    name = "age"

    @override
    def convert(
        self,
        value: object,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> timedelta:
        """Return how long that is."""
        if isinstance(value, timedelta):
            return value
        found = _AGE.fullmatch(str(value))
        seconds = 0 if found is None else int(found[1]) * _UNITS[found[2]]
        if found is None or seconds > _MOST_DAYS * _UNITS["d"]:
            rule = f"{str(value)!r} is no age: write it as 90s, 30m, 12h or 7d"
            self.fail(rule, param, ctx)
        return timedelta(seconds=seconds)


AGE: Final = Age()
