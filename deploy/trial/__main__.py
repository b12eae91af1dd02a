"""`make deploy-test`: build, boot, send 100 orders over HTTP, check, take down.

python -m deploy.trial [--plain] [--orders N] [--python-image NAME]
                       [--postgres-image NAME] [--build-network NAME]
"""

import argparse
import subprocess
import sys
import tempfile
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from deploy.trial.containers import containers
from deploy.trial.course import run
from deploy.trial.engine import Engine, find_engine
from deploy.trial.orders import orders
from deploy.trial.processes import processes
from deploy.trial.world import ROOT, TrialError, World

_IMAGE: Final = "counterfoil:trial"


def main() -> None:
    """Run the trial; exit code 0 means that everything is as it should be."""
    options = _options()
    engine = "--plain was given" if options.plain else find_engine()
    began_at = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="counterfoil-trial-") as made:
            folder = Path(made)
            folder.chmod(0o755)  # the embedded server may run as another user
            world = _world(engine, folder, options)
            run(world, orders(options.orders))
    except TrialError as error:
        sys.exit(f"not as it should be: {error}")
    print(f"all as it should be, after {time.monotonic() - began_at:.0f} s")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make deploy-test")
    parser.add_argument("--plain", action="store_true", help="use no containers")
    parser.add_argument("--orders", type=int, default=100)
    parser.add_argument("--python-image", help="base of our image")
    parser.add_argument("--postgres-image", help="PostgreSQL's image")
    parser.add_argument("--build-network", help="network of the build, such as host")
    return parser.parse_args()


def _world(
    engine: Engine | str, folder: Path, options: argparse.Namespace
) -> AbstractContextManager[World]:
    if isinstance(engine, str):
        print(f"No container is booted: {engine}.")
        print("Plain processes instead, with the compose files' commands and settings.")
        return processes(folder)
    print(f"containers, by {' '.join(engine.compose)}")
    _build(engine, options)
    images = {"COUNTERFOIL_IMAGE": _IMAGE}
    if options.postgres_image:
        images["POSTGRES_IMAGE"] = options.postgres_image
    return containers(engine, folder, images)


def _build(engine: Engine, options: argparse.Namespace) -> None:
    arguments = ["build", "--file", "deploy/Dockerfile", "--tag", _IMAGE]
    if options.python_image:
        arguments += ["--build-arg", f"PYTHON_IMAGE={options.python_image}"]
    if options.build_network:
        arguments += ["--network", options.build_network]
    engine.run(*arguments, "--build-arg", f"REVISION={_revision()}", ".")
    label = '{{index .Config.Labels "org.opencontainers.image.version"}}'
    labelled = engine.run("inspect", "--format", label, _IMAGE).strip()
    told = engine.run("run", "--rm", "--network", "none", _IMAGE, "--version").strip()
    if told != f"counterfoil {labelled}":
        msg = f"the image is labelled {labelled}, and says {told}"
        raise TrialError(msg)
    print(f"built: {told}")


def _revision() -> str:
    asked = ["git", "rev-parse", "HEAD"]
    told = subprocess.run(  # noqa: S603 - fixed words
        asked, cwd=ROOT, capture_output=True, text=True, check=False
    )
    return told.stdout.strip() or "unknown"


if __name__ == "__main__":
    main()
