"""What every measurement shares: the corpus, processor time, memory, disk, and how to talk to a program.

A tool is measured from outside: processor time and memory are those of its processes, never of this
script. Nothing here knows a tool by name.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

#: Answers a search may give; recall is looked at among the first 1, 5 and 10.
LIMIT = 10

#: Seconds a call gets even when time is nearly up, and at most.
CALL_MIN_S, CALL_MAX_S = 60.0, 3600.0

#: Seconds a server has to end after its input was closed.
END_S = 20


class Stopped(Exception):
    """The time given to a tool is over, or the tool ended on its own."""


class Corpus:
    """Entries, and the queries whose known answer is among them."""

    def __init__(self, entries: Path, queries: Path, size: int) -> None:
        self._path = entries
        ids = {entry["id"] for entry in self.entries(0, size)}
        asked = [json.loads(line) for line in queries.open()]
        self.size = len(ids)
        self.queries = [query for query in asked if query["gold"] in ids]
        self.sha256 = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (entries, queries)}

    def entries(self, start: int, end: int) -> Iterator[dict]:
        """The entries `start..end`, read anew each time so that this script stays small."""
        with self._path.open() as lines:
            for number, line in enumerate(lines):
                if end <= number:
                    return
                if start <= number:
                    yield json.loads(line)


class Usage:
    """What the processes of a tool have used up, those that still run included."""

    def __init__(self) -> None:
        self._ended_s = 0.0
        self._peak_kb = 0
        self._running: set[int] = set()

    def start(self, pid: int) -> None:
        self._running.add(pid)

    def end(self, pid: int) -> int:
        """Waits for a process, books what it and its children used, and returns how it ended."""
        self._peak_kb = max(self._peak_kb, _peak_kb(pid))
        _, status, used = os.wait4(pid, 0)
        self._running.discard(pid)
        self.add(used.ru_utime + used.ru_stime, used.ru_maxrss)
        return os.waitstatus_to_exitcode(status)

    def add(self, cpu_s: float, peak_kb: int) -> None:
        """Books what a process that has ended used, its children included."""
        self._ended_s += cpu_s
        self._peak_kb = max(self._peak_kb, peak_kb)

    def cpu_s(self) -> float:
        return self._ended_s + sum(_cpu_of_tree_s(pid) for pid in self._running)

    def take_peak_mb(self) -> float:
        """The highest resident memory of one process since this was last asked."""
        peak_kb = max([self._peak_kb, *(_peak_kb(pid) for pid in self._running)])
        self._peak_kb = 0
        return peak_kb / 1024


class Clock:
    """Processor and wall time of a stretch of work."""

    def __init__(self, usage: Usage) -> None:
        self._usage = usage
        self._cpu_s, self._wall_s = usage.cpu_s(), time.perf_counter()

    def read(self) -> tuple[float, float]:
        return self._usage.cpu_s() - self._cpu_s, time.perf_counter() - self._wall_s


def run(usage: Usage, command: list, cwd: Path, env: dict[str, str], timeout_s: float) -> str:
    """Runs a program to its end and returns what it printed."""
    name = Path(command[0]).name
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder) / "out", Path(folder) / "err"
        asked = {"command": [str(it) for it in command], "cwd": str(cwd), "env": env, "timeout_s": timeout_s}
        launcher = _launcher()
        launcher.stdin.write(json.dumps({**asked, "out": str(out), "err": str(err)}) + "\n")
        launcher.stdin.flush()
        ended = json.loads(launcher.stdout.readline())
        usage.add(ended["cpu_s"], ended["peak_kb"])
        if ended["late"]:
            raise Stopped(f"{name} took longer than {timeout_s:.0f} s")
        if ended["code"] != 0:
            raise RuntimeError(f"{name} ended with {ended['code']}: {err.read_text(errors='replace')[-600:]}")
        return out.read_text()


@functools.cache
def _launcher() -> subprocess.Popen:
    """The one small process that starts programs; it ends with this script, when its input does."""
    command = [sys.executable, "-S", "-E", Path(__file__).with_name("launcher.py")]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


class Server:
    """A program that answers one line of JSON with one line of JSON."""

    def __init__(self, usage: Usage, command: list, cwd: Path, env: dict[str, str], log: Path) -> None:
        self._usage = usage
        self._buffer = b""
        with log.open("ab") as err:
            self._program = subprocess.Popen(
                command, cwd=cwd, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err, bufsize=0
            )
        usage.start(self._program.pid)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._program.stdout, selectors.EVENT_READ)

    def send(self, message: dict) -> None:
        line = memoryview(json.dumps(message).encode() + b"\n")
        while line:
            line = line[self._program.stdin.write(line) :]

    def receive(self, timeout_s: float) -> dict:
        """The next line that is JSON; other lines are chatter."""
        until = time.monotonic() + timeout_s
        while True:
            line, found, rest = self._buffer.partition(b"\n")
            if found:
                self._buffer = rest
                try:
                    return json.loads(line)
                except ValueError:
                    continue
            if not self._selector.select(max(0.0, until - time.monotonic())):
                raise Stopped(f"no answer within {timeout_s:.0f} s")
            part = os.read(self._program.stdout.fileno(), 1 << 20)
            if not part:
                raise Stopped("the server ended")
            self._buffer += part

    def close(self) -> None:
        """Ends the server as a client does, by closing its input; by force only if that does not help."""
        self._program.stdin.close()
        late = threading.Timer(END_S, os.kill, (self._program.pid, signal.SIGKILL))
        late.start()
        try:
            self._program.returncode = self._usage.end(self._program.pid)
        finally:
            late.cancel()
        self._selector.close()
        self._program.stdout.close()


class Mcp(Server):
    """A server of the Model Context Protocol over standard input and output."""

    def __init__(self, usage: Usage, command: list, cwd: Path, env: dict[str, str], log: Path, timeout_s: float) -> None:
        super().__init__(usage, command, cwd, env, log)
        self._asked = 0
        client = {"name": "peers", "version": "1"}
        self.call("initialize", {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": client}, timeout_s)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, method: str, params: dict, timeout_s: float) -> dict:
        self._asked += 1
        self.send({"jsonrpc": "2.0", "id": self._asked, "method": method, "params": params})
        while True:
            answer = self.receive(timeout_s)
            if answer.get("id") != self._asked:
                continue
            if "error" in answer:
                raise RuntimeError(str(answer["error"])[:600])
            return answer["result"]

    def tool(self, name: str, arguments: dict, timeout_s: float) -> dict:
        result = self.call("tools/call", {"name": name, "arguments": arguments}, timeout_s)
        if result.get("isError"):
            raise RuntimeError(str(result)[:600])
        return result


class Tool:
    """One tool to measure. A subclass says how it is started, filled and asked; `run.py` does the rest."""

    #: Short name, for the command line and the results.
    name: str
    #: Entries given at once when filling.
    batch = 100
    #: Whether the door for many is a program of its own, to be used while the server is not running.
    fills_closed = False
    #: How an entry becomes what the tool stores, and through which doors; printed beside the results.
    notes: dict[str, str]

    def __init__(self, home: Path, data: Path) -> None:
        """`home` has the installed peers, `data` is an empty folder."""
        self.home, self.data = home, data
        self.usage = Usage()
        self.until = float("inf")

    @property
    def timeout_s(self) -> float:
        """Seconds for a call that starts now; `run.py` sets `until`, a moment of `time.monotonic`."""
        return max(CALL_MIN_S, min(self.until - time.monotonic(), CALL_MAX_S))

    def version(self) -> str:
        raise NotImplementedError

    def prepare(self) -> None:
        """Makes an empty store; not measured."""

    def open(self) -> None:
        """Starts what has to run before an entry can be added or a question asked."""

    def close(self) -> None:
        """Ends what `open` started."""

    def add_many(self, entries: list[dict]) -> None:
        """Adds through the door meant for many; called between `open` and `close`."""
        raise NotImplementedError

    def add_one(self, entry: dict) -> None:
        """Adds as an agent does during its work."""
        raise NotImplementedError

    def search(self, query: str) -> tuple[list[str], int]:
        """The ids of at most `LIMIT` entries, best first, and how many bytes the whole answer has."""
        raise NotImplementedError

    def stored(self) -> int:
        """How many entries the store has by its own word."""
        raise NotImplementedError

    def variants(self, corpus: Corpus) -> dict[str, dict[str, str]]:
        """Other wordings of the queries that suit the tool better: name, then query to wording."""
        return {}


def environment(data: Path, **more: str) -> dict[str, str]:
    """The little of ours that a tool gets to see: a home of its own, and no proxy or key."""
    home = data / "home"
    home.mkdir(parents=True, exist_ok=True)
    return {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", **more}


def disk(folder: Path) -> dict[str, float]:
    """Megabytes (10^6) below `folder`: what the files say, and the blocks they take."""
    files = [path.lstat() for path in folder.rglob("*") if not path.is_dir()]
    return {
        "files": len(files),
        "apparent_mb": round(sum(it.st_size for it in files) / 1e6, 2),
        "allocated_mb": round(sum(it.st_blocks for it in files) * 512 / 1e6, 2),
    }


def _cpu_of_tree_s(pid: int) -> float:
    """User and system time of a running process, its running descendants and those it has reaped."""
    try:
        # The kernel's clock of another process, to the nanosecond; see `clock_getcpuclockid(3)`.
        own_s = time.clock_gettime((~pid << 3) | 2)
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        reaped_s = (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")
        tasks = Path(f"/proc/{pid}/task").iterdir()
        children = [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return 0.0
    return own_s + reaped_s + sum(_cpu_of_tree_s(child) for child in children)


def _peak_kb(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)
