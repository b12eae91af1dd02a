"""One document's own world: a folder, a database, terminals, a program, a clock."""

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from datetime import timedelta
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

import psycopg
from psycopg import sql
from psycopg.types.string import TextLoader

from api.cli.app import run
from infrastructure.bootstrap import Composition
from tests.docs.document import Block, Command
from tests.docs.shown import Names
from tests.fixtures.database import TestDatabase
from tests.fixtures.packages import forget_modules

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 30.0
PORT = "3000"
"""The port that documents use; a free one takes its place."""

_ROLES = """
SELECT rolname FROM pg_roles WHERE rolname <> current_user AND rolname !~ '^pg_'
"""
_SHELL = re.compile(r"[|&;<>$`*\n\\]")
_LOOKS = re.compile(
    r"^(counterfoil (jobs|job|events|why|dead-letters|history|maintenance$)|sqlite3)\b"
)
"""Commands that change nothing are repeated until they show what is to come."""


class Terminal:
    """A command that is not waited for, and what it has written so far."""

    def __init__(self, command: str, folder: Path, environ: dict[str, str]) -> None:
        self.command = command
        self._file = folder / f".terminal-{time.monotonic_ns()}"
        with self._file.open("wb") as output:
            self._process = subprocess.Popen(
                ["/bin/bash", "-c", f"exec {command}"],
                cwd=folder,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def output(self) -> str:
        """Return what it has written."""
        return self._file.read_text("utf-8")

    def end(self) -> None:
        """Press Ctrl-C, and wait."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Stage:
    """Runs the blocks of one document, in order."""

    def __init__(self, folder: Path, database: TestDatabase | None, name: str) -> None:
        self._folder = folder
        self._database = database
        self._names = Names()
        self._terminals: list[Terminal] = []
        self._program = ModuleType(f"document_{name}")
        sys.modules[self._program.__name__] = self._program
        self._port = _free_port()
        self._sql: psycopg.Connection[Any] | None = None
        (folder / "examples").symlink_to(ROOT / "examples")
        if database is not None:
            # Whoever may settle asks for the time, which tests keep in a table.
            grant = "GRANT SELECT ON counterfoil.test_clock TO PUBLIC"
            database.connect().execute(grant)

    def run(self, block: Block) -> None:
        """Run one block; what the document shows must come out."""
        if "time passes" in block.said:
            assert self._database is not None
            seconds = int(block.said["time passes"].removesuffix(" s"))
            self._database.advance(timedelta(seconds=seconds))
        if "ctrl-c" in block.said:
            self._end(block.said["ctrl-c"])
        if block.language == "sql":
            for statement in block.statements():
                self._ask(statement)
        elif block.language == "python":
            self._python(block)
        else:
            self._console(block)

    def close(self) -> None:
        """End everything that still runs."""
        if self._sql is not None:
            # Roles are the server's: it would keep those that the document made.
            self._sql.execute("RESET ROLE")
            for (role,) in self._sql.execute(_ROLES).fetchall():
                name = sql.Identifier(role)
                self._sql.execute(sql.SQL("DROP OWNED BY {}").format(name))
                self._sql.execute(sql.SQL("DROP ROLE {}").format(name))
            self._sql.close()
        for terminal in reversed(self._terminals):
            terminal.end()
        del sys.modules[self._program.__name__]
        forget_modules(self._folder)

    def _end(self, command: str) -> None:
        (terminal,) = (it for it in self._terminals if it.command == command)
        self._terminals.remove(terminal)
        terminal.end()

    def _console(self, block: Block) -> None:
        *others, last = block.commands()
        for command in others:
            self._command(command, 0)
        if "keeps running" in block.said:
            self._keep(last)
        else:
            self._command(last, int(block.said.get("exits with", "0")))

    def _keep(self, command: Command) -> None:
        terminal = Terminal(self._real(command.text), self._folder, dict(os.environ))
        terminal.command = command.text
        self._terminals.append(terminal)
        told = [self._real(line) for line in command.shown]
        self._until(
            lambda: (self._names.match(told, terminal.output(), is_all=False), "")[0],
            lambda: f"$ {command.text}\n{terminal.output()}",
        )

    def _command(self, command: Command, exit_code: int) -> None:
        text = self._real(command.text)
        told = [self._real(line) for line in command.shown]
        if text.startswith("export "):
            for setting in shlex.split(text)[1:]:
                name, _, value = setting.partition("=")
                os.environ[name] = self._expanded(value)
            return
        last = [0, ""]

        def is_as_told() -> bool:
            last[:] = self._once(text)
            return last[0] == exit_code and (
                not told or self._names.match(told, str(last[1]))
            )

        def why() -> str:
            return f"$ {command.text}\nended with {last[0]}:\n{last[1]}"

        repeats = _LOOKS.match(text) is not None
        self._until(is_as_told, why, PATIENCE_S if repeats else 0.0)

    def _until(
        self,
        is_so: Callable[[], bool],
        why: Callable[[], str],
        patience_s: float = PATIENCE_S,
    ) -> None:
        give_up_at = time.monotonic() + patience_s
        while not is_so():
            assert time.monotonic() < give_up_at, why()
            time.sleep(0.05)

    def _once(self, text: str) -> tuple[int, str]:
        """Return exit code and output of one command."""
        words = shlex.split(text) if _SHELL.search(text) is None else []
        if words[:1] == ["counterfoil"]:
            # In this process: a second of imports less for each command.
            output = StringIO()
            with redirect_stdout(output), redirect_stderr(output):
                code = run(Composition(os.environ), words[1:])
            return code, output.getvalue()
        return self._shell(text)

    def _shell(self, text: str) -> tuple[int, str]:
        ended = subprocess.run(
            ["/bin/bash", "-c", text],
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=60,
        )
        return ended.returncode, ended.stdout

    def _expanded(self, value: str) -> str:
        """Return a value as the shell would set it."""
        if "$" not in value:
            return value
        code, told = self._shell(f'printf %s "{value}"')
        assert code == 0, told
        return told

    def _real(self, text: str) -> str:
        text = text.replace(f":{PORT}", f":{self._port}")
        text = text.replace(f"--port {PORT}", f"--port {self._port}")
        return self._names.in_command(text)

    def _python(self, block: Block) -> None:
        if block.file is not None:
            file = self._folder / block.file
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(self._real(block.text), "utf-8")
            return
        told = [line[3:] for line in block.lines if line.startswith("#> ")]
        output = StringIO()
        # Compiled with the lines of the document, so that a failure names them.
        code = compile("\n" * block.line + block.text, self._program.__name__, "exec")
        with redirect_stdout(output):
            exec(code, self._program.__dict__)  # noqa: S102 - our own document
        assert self._names.match(told, output.getvalue()), output.getvalue()

    def _ask(self, statement: Command) -> None:
        connection = self._connected()
        told = "\n".join(statement.shown)
        try:
            cursor = connection.execute(self._real(statement.text).encode())
            row = cursor.fetchone() if cursor.description else None
        except psycopg.DatabaseError as error:
            said = {
                "ERROR": error.diag.message_primary,
                "DETAIL": error.diag.message_detail,
                "HINT": error.diag.message_hint,
                "SQLSTATE": error.sqlstate,
            }
            answer = "\n".join(f"{name}: {it}" for name, it in said.items() if it)
        else:
            answer = "" if row is None else " | ".join(str(value) for value in row)
        lines = told.splitlines() or ["…" if "ERROR" not in answer else "no error"]
        assert self._names.match(lines, answer), f"{statement.text}\n{answer}"

    def _connected(self) -> psycopg.Connection[Any]:
        if self._sql is None:
            assert self._database is not None
            self._sql = psycopg.connect(self._database.conninfo, autocommit=True)
            self._sql.adapters.register_loader("jsonb", TextLoader)
        return self._sql


def _free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return str(listener.getsockname()[1])
