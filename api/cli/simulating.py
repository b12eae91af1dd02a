"""`simulate`: stand-ins for what Counterfoil talks to."""

from collections.abc import Callable
from pathlib import Path
from typing import Final
from uuid import UUID

import rich_click as click

from api.cli.options import as_json, command, group, option
from api.cli.output import document, say
from api.installation import Installation

_EVERY_PORT: Final = 65_535


@group
def simulate() -> None:
    r"""Stand in for a provider, to try Counterfoil without one.

    \b
    Examples:
      counterfoil simulate panel --token secret
      counterfoil simulate gateway --token secret
    """


_token = option(
    "--token",
    envvar="COUNTERFOIL_SIMULATOR_TOKEN",
    required=True,
    help="The token that it takes; also COUNTERFOIL_SIMULATOR_TOKEN.",
)
_port_file = option(
    "--port-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the port there once it listens.",
)
_fault_rate = option(
    "--fault-rate",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    help="Share of the requests that go wrong, such as 0.03.",
)
_faults = option(
    "--fault",
    "faults",
    multiple=True,
    metavar="NAME",
    help="A way to go wrong; may be repeated. None: all of them.",
)
_seed = option(
    "--seed", type=int, default=0, show_default=True, help="Same seed, same faults."
)


def _port(default: int) -> Callable[[Callable[..., object]], Callable[..., object]]:
    return option(
        "--port",
        type=click.IntRange(0, _EVERY_PORT),
        default=default,
        show_default=True,
        help="Where it listens on 127.0.0.1; 0 takes a free one.",
    )


@command
@_port(3000)
@_port_file
@option(
    "--book",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("panel.sqlite"),
    show_default=True,
    help="SQLite file that keeps the users and every request.",
)
@_token
@_fault_rate
@_faults
@_seed
@option(
    "--latency-ms",
    type=click.FloatRange(0),
    default=0.0,
    show_default=True,
    help="Added to every answer.",
)
@option(
    "--squad",
    "squads",
    multiple=True,
    type=click.UUID,
    metavar="UUID",
    help="An internal squad that it knows; may be repeated.",
)
@as_json
@click.pass_obj
def panel(  # noqa: PLR0913 - the options of the command, one to one
    installation: Installation,
    *,
    port: int,
    port_file: Path | None,
    book: Path,
    token: str,
    fault_rate: float,
    faults: tuple[str, ...],
    seed: int,
    latency_ms: float,
    squads: tuple[UUID, ...],
    as_json: bool,
) -> None:
    r"""Imitate a Remnawave panel until Ctrl-C.

    It keeps a book of every request and its effect, which a demo or a test compares
    with Counterfoil's log.  State survives a kill: start it again on the same book.
    Faults can be changed while it runs, over HTTP: GET and POST /_simulator/faults.

    \b
    Examples:
      counterfoil simulate panel --token secret
      counterfoil simulate panel --token secret --fault-rate 0.03
      counterfoil simulate panel --token secret --fault-rate 1 --fault reset_after
    """
    _require_known(faults, installation.simulators.panel_faults)

    def ready(bound: int) -> None:
        _write_port(port_file, bound)
        _announce(bound, book, as_json=as_json)

    installation.simulators.simulate_panel(
        port=port,
        book=book,
        token=token,
        fault_rate=fault_rate,
        faults=faults,
        seed=seed,
        latency_ms=latency_ms,
        squads=tuple((str(squad), f"squad-{squad}"[:14]) for squad in squads),
        ready=ready,
    )


@command
@_port(3001)
@_port_file
@option(
    "--ledger",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("gateway.sqlite"),
    show_default=True,
    help="SQLite file that keeps every request and everything handed over.",
)
@_token
@option(
    "--balance",
    "balance_minor",
    type=click.IntRange(0),
    default=1_000_000_000,
    show_default=True,
    help="The buyer's money in a new ledger, in minor units.",
)
@option(
    "--callback-secret",
    envvar="COUNTERFOIL_SIMULATOR_CALLBACK_SECRET",
    metavar="whsec_…",
    help="What callbacks are signed with; also COUNTERFOIL_SIMULATOR_CALLBACK_SECRET. "
    "None: it makes no callbacks.",
)
@_fault_rate
@_faults
@_seed
@as_json
@click.pass_obj
def gateway(  # noqa: PLR0913 - the options of the command, one to one
    installation: Installation,
    *,
    port: int,
    port_file: Path | None,
    ledger: Path,
    token: str,
    balance_minor: int,
    callback_secret: str | None,
    fault_rate: float,
    faults: tuple[str, ...],
    seed: int,
    as_json: bool,
) -> None:
    r"""Imitate a seller of digital goods until Ctrl-C.

    It speaks two dialects at one address: a blind one without keys or look-ups (POST
    /admin/stars/send and /admin/premium/send) and one that honours keys and can be
    asked (POST /purchases, GET /purchases/KEY, GET /balance).  Its ledger, on the disk
    before it answers, says what was really handed over, and survives a kill.  Faults,
    holds, money and callbacks are switched while it runs, over HTTP at /_simulator/.

    \b
    Examples:
      counterfoil simulate gateway --token secret
      counterfoil simulate gateway --token secret --fault-rate 0.2 --seed 7
      counterfoil simulate gateway --token secret --fault-rate 1 --fault cut_after
    """
    _require_known(faults, installation.simulators.gateway_faults)

    def ready(bound: int) -> None:
        _write_port(port_file, bound)
        url = f"http://127.0.0.1:{bound}"
        if as_json:
            document({"url": url, "port": bound, "ledger": str(ledger)})
        else:
            say(f"simulated gateway at {url}, its ledger in {ledger}", "Ctrl-C stops")

    installation.simulators.simulate_gateway(
        port=port,
        ledger=ledger,
        token=token,
        balance_minor=balance_minor,
        callback_secret=callback_secret,
        fault_rate=fault_rate,
        faults=faults,
        seed=seed,
        ready=ready,
    )


simulate.add_command(panel)
simulate.add_command(gateway)


def _write_port(port_file: Path | None, port: int) -> None:
    if port_file is not None:
        # Renamed into place, so that no reader sees half a number.
        draft = port_file.with_name(port_file.name + ".new")
        draft.write_text(f"{port}\n", "utf-8")
        draft.replace(port_file)


def _require_known(faults: tuple[str, ...], known: tuple[str, ...]) -> None:
    for fault in faults:
        if fault not in known:
            msg = f"{fault!r} is no fault; there are: {', '.join(known)}"
            raise click.BadParameter(msg, param_hint="--fault")


def _announce(port: int, book: Path, *, as_json: bool) -> None:
    url = f"http://127.0.0.1:{port}"
    if as_json:
        document({"url": url, "port": port, "book": str(book)})
        return
    say(
        f"simulated panel at {url}, its book in {book}",
        f"use it with COUNTERFOIL_REMNAWAVE_URL={url} and the token as "
        "COUNTERFOIL_REMNAWAVE_TOKEN; Ctrl-C stops",
    )
