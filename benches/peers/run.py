"""Measures tools on the same entries and queries, one after the other, and keeps what came out as JSON.

    python3 run.py --home DIR --entries FILE --queries FILE [--tool NAME]... [--size N]

Answers for the order of things and for what is counted; how a tool is used is in the file of that tool.
Nothing runs in parallel, and where the system allows it nothing has a network.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from datetime import date
from pathlib import Path

from basic_memory import BasicMemory
from common import Clock, Corpus, Stopped, Tool, disk, run
from ken import Ken
from mcp_memory import McpMemory
from mem0 import Mem0

TOOLS: dict[str, type[Tool]] = {tool.name: tool for tool in (McpMemory, BasicMemory, Mem0, Ken)}

#: Entries added one at a time, the last of the corpus, beside all the others.
SINGLES = 50
#: Starts from nothing to the first answer.
COLD_STARTS = 3
#: The part of a tool's time it may spend on being filled; the rest is for singles, starts and searches.
FILL_SHARE = 0.75
#: Set in the copy of this script that runs without a network.
ALONE = "PEERS_NO_NETWORK"


def main() -> None:
    args = arguments()
    without_network()
    args.home.mkdir(parents=True, exist_ok=True)
    with (args.home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        corpus = Corpus(args.entries, args.queries, args.size)
        for name in args.tool or TOOLS:
            print(f"{name}: {corpus.size} entries, {len(corpus.queries)} queries", flush=True)
            keep(args.out, corpus, name, measured(TOOLS[name], corpus, args))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, required=True, help="where the peers are installed; see README.md")
    parser.add_argument("--entries", type=Path, required=True, help="JSON lines: id, kind, title, text, tags, scope")
    parser.add_argument("--queries", type=Path, required=True, help="JSON lines: q, gold (the id of the answer), style")
    parser.add_argument("--tool", action="append", choices=TOOLS, help="only this one; may be repeated")
    parser.add_argument("--size", type=int, default=10_000, help="the first N entries")
    parser.add_argument("--minutes", type=float, default=15, help="what one tool may take")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "peers.json")
    args = parser.parse_args()
    args.home = args.home.resolve()
    return args


def without_network() -> None:
    """Goes on in a network namespace that has no interface, where the system allows it."""
    if ALONE in os.environ:
        return
    allowed = shutil.which("unshare") and subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode == 0
    if allowed:
        os.environ[ALONE] = "1"
        os.execvp("unshare", ["unshare", "-n", sys.executable, *sys.argv])
    os.environ[ALONE] = "0"


def measured(kind: type[Tool], corpus: Corpus, args: argparse.Namespace) -> dict:
    """Everything there is to say about one tool; a phase that could not end says so and the rest goes on."""
    data = args.home / "data" / kind.name
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(parents=True)
    tool = kind(args.home, data)
    began, steal = time.monotonic(), ticks()
    result = {
        "version": tool.version(),
        "notes": tool.notes,
        "date": date.today().isoformat(),
        "network": "none" if os.environ[ALONE] == "1" else "not cut off",
        "load_before": Path("/proc/loadavg").read_text().split()[0],
    }
    end = began + args.minutes * 60
    fill_end = began + args.minutes * 60 * FILL_SHARE
    try:
        tool.until = end
        tool.prepare()
        tool.usage.take_peak_mb()
        result["add_many"] = filled(tool, corpus, fill_end)
        tool.until = end
        result["add_one"] = added_singly(tool, corpus)
        result["peak_add_mb"] = round(tool.usage.take_peak_mb(), 1)
        result["stored"] = tool.stored()
        result["disk"] = disk(data / "store")
        tool.usage.take_peak_mb()
        result["cold"] = cold(tool, corpus)
        result.update(asked(tool, corpus))
        result["peak_search_mb"] = round(tool.usage.take_peak_mb(), 1)
        result["peak_floor_mb"] = round(floor_mb(data), 1)
    except (Stopped, RuntimeError) as error:
        result["stopped"] = str(error)
        print(f"  stopped: {error}", flush=True)
    now = ticks()
    result["minutes"] = round((time.monotonic() - began) / 60, 1)
    result["stolen_percent"] = round(100 * (now[0] - steal[0]) / max(1, now[1] - steal[1]), 1)
    result["load_after"] = Path("/proc/loadavg").read_text().split()[0]
    return result


def filled(tool: Tool, corpus: Corpus, until: float) -> dict:
    """All but the last entries, through the door for many."""
    wanted = max(0, corpus.size - SINGLES)
    tool.until = until
    if not tool.fills_closed:
        tool.open()
    clock, done, longest_s = Clock(tool.usage), 0, 0.0
    # A batch that would probably not end in time is not begun: cut off in the middle it would leave a store nobody can count.
    while done < wanted and time.monotonic() + longest_s < until:
        entries, began = list(corpus.entries(done, min(done + tool.batch, wanted))), time.monotonic()
        tool.add_many(entries)
        done += len(entries)
        longest_s = max(longest_s, time.monotonic() - began)
    cpu_s, wall_s = clock.read()
    if not tool.fills_closed:
        tool.close()
    return told("add_many", {"wanted": wanted, "count": done, **each(done, cpu_s, wall_s)})


def added_singly(tool: Tool, corpus: Corpus) -> dict:
    """The last entries of the corpus, one call each, after one search that warms the tool up."""
    tool.open()
    tool.search(corpus.queries[0]["q"])
    walls_ms, clock = [], Clock(tool.usage)
    for entry in corpus.entries(corpus.size - SINGLES, corpus.size):
        began = time.perf_counter()
        tool.add_one(entry)
        walls_ms.append((time.perf_counter() - began) * 1e3)
    cpu_s, wall_s = clock.read()
    tool.close()
    return told("add_one", {"count": len(walls_ms), **each(len(walls_ms), cpu_s, wall_s), **quantiles(walls_ms)})


def cold(tool: Tool, corpus: Corpus) -> dict:
    """From starting the tool to its first answer and its end."""
    cpus_ms, walls_ms = [], []
    for query in corpus.queries[:COLD_STARTS]:
        clock = Clock(tool.usage)
        tool.open()
        tool.search(query["q"])
        _, wall_s = clock.read()
        tool.close()
        cpus_ms.append(clock.read()[0] * 1e3)
        walls_ms.append(wall_s * 1e3)
    first, median = round(cpus_ms[0], 2), round(statistics.median(cpus_ms), 2)
    return told("cold", {"count": len(cpus_ms), "cpu_ms": median, "cpu_first_ms": first, **quantiles(walls_ms)})


def asked(tool: Tool, corpus: Corpus) -> dict:
    """Every query as it is, then once more in each wording that suits the tool better."""
    variants = tool.variants(corpus)
    tool.open()
    tool.search(corpus.queries[0]["q"])
    result = round_of(tool, corpus, {})
    others = {name: round_of(tool, corpus, wording) for name, wording in variants.items()}
    tool.close()
    return {**result, "variants": others}


def round_of(tool: Tool, corpus: Corpus, wording: dict[str, str]) -> dict:
    walls_ms, sizes, ranks, clock = [], [], [], Clock(tool.usage)
    for query in corpus.queries:
        began = time.perf_counter()
        ids, size = tool.search(wording.get(query["q"], query["q"]))
        walls_ms.append((time.perf_counter() - began) * 1e3)
        sizes.append(size)
        rank = ids.index(query["gold"]) + 1 if query["gold"] in ids else None
        ranks.append({"style": query["style"], "rank": rank, "answers": len(ids)})
    cpu_s, wall_s = clock.read()
    count = len(corpus.queries)
    search = {"count": count, **each(count, cpu_s, wall_s), **quantiles(walls_ms), "answer_bytes": round(statistics.mean(sizes))}
    styles = sorted({it["style"] for it in ranks})
    recall = {"all": recalled(ranks), **{style: recalled([it for it in ranks if it["style"] == style]) for style in styles}}
    return {"search": told("search", search), "recall": told("recall", recall)}


def recalled(ranks: list[dict]) -> dict:
    """Percent of queries whose known answer is among the first 1, 5 and 10, and of those answered at all."""

    def percent(hits: int) -> float:
        return round(100 * hits / len(ranks), 1)

    among = {f"at_{k}": percent(sum(1 for it in ranks if it["rank"] and it["rank"] <= k)) for k in (1, 5, 10)}
    return {"queries": len(ranks), **among, "answered": percent(sum(1 for it in ranks if it["answers"]))}


def each(count: int, cpu_s: float, wall_s: float) -> dict:
    return {"cpu_ms": round(1e3 * cpu_s / max(1, count), 3), "wall_ms": round(1e3 * wall_s / max(1, count), 3)}


def quantiles(walls_ms: list[float]) -> dict:
    walls_ms = sorted(walls_ms)
    at = [walls_ms[round(share * (len(walls_ms) - 1))] for share in (0.5, 0.95)]
    return {"wall_p50_ms": round(at[0], 2), "wall_p95_ms": round(at[1], 2)}


def floor_mb(data: Path) -> float:
    """What the smallest program seems to need: a program is charged with the memory of the one that starts it."""
    probe = Tool(data, data)
    run(probe.usage, ["true"], data, dict(os.environ), 60)
    return probe.usage.take_peak_mb()


def ticks() -> tuple[int, int]:
    """Processor ticks the host took away from this machine, and all ticks."""
    fields = [int(it) for it in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return fields[7], sum(fields)


def machine() -> dict:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")
    memory_kb = int(Path("/proc/meminfo").read_text().split()[1])
    return {"cores": os.cpu_count(), "model": model, "memory_gb": round(memory_kb / 1e6, 1), "kernel": os.uname().release}


def told(what: str, figures: dict) -> dict:
    print(f"  {what}: {json.dumps(figures)}", flush=True)
    return figures


def keep(out: Path, corpus: Corpus, name: str, result: dict) -> None:
    """Puts a tool's figures into the file, in place of those it had."""
    about = {"entries": corpus.size, "queries": len(corpus.queries), "sha256": corpus.sha256}
    kept = json.loads(out.read_text()) if out.exists() else {}
    if kept.get("corpus") != about:
        kept = {"corpus": about, "tools": {}}
    kept["machine"] = machine()
    kept["tools"][name] = result
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
