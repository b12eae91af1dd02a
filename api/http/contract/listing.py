"""Every operation of the API: method, path, surface, declaration, and its function."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from litestar import Response, Router
from litestar.handlers import HTTPRouteHandler
from litestar.params import BodyKwarg, ParameterKwarg, PathParameter, QueryParameter
from litestar.response import Stream

from api.http.route import ROUTE, Declaration
from api.http.surface import Surface

_MARKS = (BodyKwarg, ParameterKwarg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter of a path or a query."""

    name: str
    where: str
    """`path` or `query`."""
    type: Any
    default: Any
    mark: ParameterKwarg

    @property
    def is_required(self) -> bool:
        """Whether there is no default."""
        return self.default is inspect.Parameter.empty


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One thing that can be asked for at one address."""

    surface: Surface
    path: str
    """With braces: `/v1/jobs/{job_id}`."""
    handler: HTTPRouteHandler
    declared: Declaration

    @property
    def id(self) -> str:
        """Its name for clients: `admin_retry_job`."""
        return f"{self.surface.name.lower()}_{self.handler.fn.__name__}"

    @property
    def body(self) -> Any:  # noqa: ANN401 - a type, whatever it is
        """The struct of the body; None: it takes none."""
        hints = get_type_hints(self.handler.fn)
        return hints.get("data")

    @property
    def answer(self) -> Any:  # noqa: ANN401 - a type, whatever it is
        """The struct of the answer; None: it has no body."""
        told = get_type_hints(self.handler.fn).get("return")
        if get_origin(told) is Response:
            (told,) = get_args(told)
        return None if told is type(None) else told

    @property
    def is_stream(self) -> bool:
        """Whether the answer is a stream of events."""
        told = self.answer
        return isinstance(told, type) and issubclass(told, Stream)

    def parameters(self) -> Iterator[Parameter]:
        """Yield the parameters of path and query, in their order."""
        yield from _parameters(self.handler.fn)
        if self.declared.query is not None:
            yield from _parameters(self.declared.query)


def _parameters(function: Callable[..., Any]) -> Iterator[Parameter]:
    signature = inspect.signature(function)
    for name, hint in get_type_hints(function, include_extras=True).items():
        marks = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
        for mark in marks:
            if isinstance(mark, QueryParameter | PathParameter):
                yield Parameter(
                    name=mark.name or name,
                    where=str(mark.param_type.value),
                    type=get_args(hint)[0],
                    default=signature.parameters[name].default,
                    mark=mark,
                )


def operations(router: Router, surface: Surface) -> Iterator[Operation]:
    """Yield the operations of a surface's router."""
    for route in router.routes:
        handlers = getattr(route, "route_handlers", ())
        for handler in handlers:
            declared = handler.opt.get(ROUTE)
            if isinstance(handler, HTTPRouteHandler) and declared is not None:
                yield Operation(
                    surface=surface,
                    path=route.path_format,
                    handler=handler,
                    declared=declared,
                )
