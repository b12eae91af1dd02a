"""Options and arguments, typed; and those that several commands share.

rich-click leaves a type parameter of click's open, which a strict checker takes for
untyped code at every use.  So its decorators are called here alone.
"""

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from typing import Any, Final, cast, override

import rich_click as click

type Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

FILE: Final = click.Path(exists=True, dir_okay=False, path_type=Path)
"""A file that is there."""


def option(*names: str, **settings: Any) -> Decorator:  # noqa: ANN401 - click's own settings
    """Return click's decorator for one option."""
    return click.option(*names, **settings)  # pyright: ignore[reportUnknownMemberType]


def argument(name: str, **settings: Any) -> Decorator:  # noqa: ANN401 - click's own settings
    """Return click's decorator for one argument."""
    return click.argument(name, **settings)  # pyright: ignore[reportUnknownMemberType]


def command(function: Callable[..., Any]) -> click.Command:
    r"""Return the command that `function` is, its docstring the help.

    In the docstring (a raw one) a line of \b keeps the paragraph below as it is.
    """
    return click.command(help=_help(function))(function)


def group(function: Callable[..., Any]) -> click.Group:
    """Return the group of commands that `function` is; see `command`."""
    return _group(function, answers=False)


def group_that_tells(function: Callable[..., Any]) -> click.Group:
    """Return a group whose `function` has an answer of its own, without a command."""
    return _group(function, answers=True)


def _group(function: Callable[..., Any], *, answers: bool) -> click.Group:
    names = {"help_option_names": ["-h", "--help"]}
    return click.group(
        help=_help(function), context_settings=names, invoke_without_command=answers
    )(function)


class LazyCommands(MutableMapping[str, click.Command]):
    """Commands by name, each told as `module:attribute` and imported when asked for.

    All of the product is a second of a core, and a person who retries a job needs
    neither the API's framework nor the demo.
    """

    def __init__(self, places: Mapping[str, str]) -> None:
        """Take where each command is."""
        self._known: dict[str, str | click.Command] = dict(places)

    @override
    def __getitem__(self, name: str) -> click.Command:
        known = self._known[name]
        if isinstance(known, str):
            module, _, attribute = known.partition(":")
            known = cast("click.Command", getattr(import_module(module), attribute))
            self._known[name] = known
        return known

    @override
    def __setitem__(self, name: str, command: click.Command) -> None:
        self._known[name] = command

    @override
    def __delitem__(self, name: str) -> None:
        del self._known[name]

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    @override
    def __len__(self) -> int:
        return len(self._known)


def _help(function: Callable[..., Any]) -> str:
    return cleandoc(function.__doc__ or "").replace("\\b\n", "\b\n \n")


as_json: Final = option(
    "--json",
    "as_json",
    is_flag=True,
    help="Write JSON instead: one document, or one a line.",
)
"""The machine's form of the same answer."""

at_least: Final = option(
    "--at-least",
    type=click.IntRange(0),
    metavar="POSITION",
    help="Wait until this position of the log is in it: the `position` of an answer.",
)
"""For whatever reads a read model: it shows what the answer has told."""

tenant: Final = option("--tenant", help="Only this tenant's; all when left out.")
"""For lists over the whole installation."""
