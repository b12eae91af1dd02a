"""`healthcheck`: what a container's engine asks."""

import os

import rich_click as click

from api.cli.options import as_json, command
from api.cli.output import document, say
from api.healthcheck import look


@command
@as_json
@click.pass_context
def healthcheck(context: click.Context, *, as_json: bool) -> None:
    r"""Say whether the process beside this one is ready; exits with 1 if it is not.

    It asks /readyz of the listener that COUNTERFOIL_WORKER_HTTP_ADDR or
    COUNTERFOIL_API_METRICS_ADDR names, as the process itself has them.  The image asks
    by this command, so nothing else need be installed in it.

    \b
    Examples:
      counterfoil healthcheck
      COUNTERFOIL_WORKER_HTTP_ADDR=:8081 counterfoil healthcheck
    """
    health = look(os.environ)
    if as_json:
        document({"ready": health.is_ready, "told": health.told})
    else:
        say(str(health))
    context.exit(0 if health.is_ready else 1)
