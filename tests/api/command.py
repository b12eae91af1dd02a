"""`counterfoil` as real processes: run to their end, or started and watched."""

import json
import os
import signal
import threading
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import IO, Any

from tests.fixtures.processes import ROOT, Process, start

PATIENCE_S = 60.0
TOKEN = "t"  # noqa: S105 - of a simulated panel


def panel_settings(url: str) -> dict[str, str]:
    """Return the settings by which a simulated panel is used."""
    return {"COUNTERFOIL_REMNAWAVE_URL": url, "COUNTERFOIL_REMNAWAVE_TOKEN": TOKEN}


@dataclass(frozen=True)
class Result:
    """What one process left."""

    code: int
    out: str
    err: str

    @property
    def documents(self) -> list[Any]:
        """Its output as JSON, one document a line."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def document(self) -> Any:  # noqa: ANN401 - JSON
        """Its output as one JSON document."""
        (only,) = self.documents
        return only

    def complaint(self) -> str:
        """Return its error, which is one sentence on one line, and no traceback."""
        (line,) = self.err.splitlines()
        assert line.startswith("error: "), self.err
        assert "Traceback" not in self.err
        assert self.out == ""
        return line.removeprefix("error: ")


class Command:
    """Runs the product in an environment of its own."""

    def __init__(self, **settings: str) -> None:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("COUNTERFOIL_")
        }
        self._environment = {**kept, "PYTHONPATH": str(ROOT), **settings}
        self.started: list[Started] = []

    def __call__(self, *arguments: object, **settings: str) -> Result:
        """Return what the command left when it had ended."""
        with _file() as out, _file() as err:
            process = self._process(arguments, settings, stdout=out, stderr=err)
            try:
                code = process.wait(PATIENCE_S)
            finally:
                process.kill()
            return Result(code, _read(out), _read(err))

    def start(self, *arguments: object, **settings: str) -> "Started":
        """Start the command and return at once."""
        self.started.append(Started(self._process(arguments, settings)))
        return self.started[-1]

    def _process(
        self,
        arguments: tuple[object, ...],
        settings: dict[str, str],
        **streams: IO[str],
    ) -> Process:
        line = [str(each) for each in arguments]
        return start("api", line, environment=self._environment | settings, **streams)

    def close(self) -> None:
        """Kill what still runs."""
        for each in self.started:
            each.process.kill()
            each.end()


def _file() -> IO[str]:
    return TemporaryFile("w+", encoding="utf-8")


def _read(file: IO[str]) -> str:
    file.seek(0)
    return file.read()


@dataclass
class Started:
    """A process that runs; its lines are read as they come."""

    process: Process
    lines: list[str] = field(default_factory=list[str])
    errors: list[str] = field(default_factory=list[str])
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _readers: list[threading.Thread] = field(default_factory=list[threading.Thread])

    def __post_init__(self) -> None:
        for pipe, lines in (
            (self.process.stdout, self.lines),
            (self.process.stderr, self.errors),
        ):
            reader = threading.Thread(target=self._read, args=(pipe, lines))
            reader.start()
            self._readers.append(reader)

    def _read(self, pipe: Any, lines: list[str]) -> None:  # noqa: ANN401 - a text pipe
        for line in pipe:
            with self._changed:
                lines.append(line.rstrip("\n"))
                self._changed.notify_all()
        pipe.close()

    def wait_for(self, text: str) -> str:
        """Return the first line that holds `text`; fail when none comes."""
        with self._changed:
            come = self._changed.wait_for(lambda: self._found(text), PATIENCE_S)
        assert come, f"no {text!r} in {self.lines} {self.errors}"
        return self._found(text)[0]

    def _found(self, text: str) -> list[str]:
        return [line for line in (*self.lines, *self.errors) if text in line]

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self) -> Result:
        """Return what it left, once it has ended."""
        code = self.process.wait(PATIENCE_S)
        for reader in self._readers:
            reader.join(PATIENCE_S)
        return Result(code, "\n".join(self.lines), "\n".join(self.errors))

    def stop(self, number: signal.Signals = signal.SIGTERM) -> Result:
        """Ask it to end, and return what it left."""
        self.send(number)
        return self.end()
