"""Turns `results/` into the tables of `docs/explanation/peers.md`, between its two marks.

    python3 render.py            # write
    python3 render.py --check    # fail if the document does not show these results

Answers for the form only: every figure is one that `run.py` measured. `peers.json` has all tools on the whole corpus;
`ken-N.json` has Ken on as many entries as a tool came to that ran out of time.
"""

import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
RESULTS = HERE / "results"
DOCUMENT = HERE.parent.parent / "docs" / "explanation" / "peers.md"
BEGIN, END = "<!-- peers: begin -->", "<!-- peers: end -->"


def main() -> None:
    results = json.loads((RESULTS / "peers.json").read_text())
    smaller = [json.loads(file.read_text()) for file in sorted(RESULTS.glob("ken-*.json"))]
    text = DOCUMENT.read_text()
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    new = f"{before}{BEGIN}\n\n{rendered(results, smaller)}\n{END}{after}"
    if "--check" in sys.argv[1:]:
        sys.exit(0 if new == text else f"{DOCUMENT.name} does not show {RESULTS.name}/; run render.py")
    DOCUMENT.write_text(new)


def rendered(results: dict, smaller: list[dict]) -> str:
    corpus, machine = results["corpus"], results["machine"]
    tools = dict(sorted(results["tools"].items(), key=lambda item: item[0] == "ken"))
    rows = {**tools, **{f"ken, the first {it['corpus']['entries']:,}": it["tools"]["ken"] for it in smaller}}
    parts = [
        f"{corpus['entries']:,} entries, {corpus['queries']} queries. Machine: {machine['cores']} cores ({machine['model']}), "
        f"{machine['memory_gb']} GB, Linux {machine['kernel']}. CPU is user and system time of the tool's processes, in ms.",
        table(
            ["tool", "entries", "add, many: CPU each", "add, one: CPU", "search: CPU", "cold start: CPU", "peak MB add / search", "disk MB files / blocks"],
            [cost(name, it) for name, it in rows.items()],
        ),
        "Wall time in ms, median / 95th percentile, on a machine other jobs use too; not a tool's speed:",
        table(
            ["tool", "add, many: each", "add, one", "search", "cold start", "stolen by the host", "load before"],
            [wall(name, it) for name, it in rows.items()],
        ),
        "Recall of the known answer, percent of queries; *answered* is the share that got any answer at all:",
        table(
            ["tool", "@1", "@5", "@10", "@10 symptom", "@10 cause", "@10 identifier", "answered", "answer kB"],
            [row for name, it in rows.items() for row in recall(name, it)],
        ),
        "\n".join(about(name, it) for name, it in tools.items()),
    ]
    return "\n\n".join(parts) + "\n"


def cost(name: str, it: dict) -> list[str]:
    disk = it.get("disk")
    return [
        name,
        stored(it),
        figure(it, "add_many", "cpu_ms"),
        figure(it, "add_one", "cpu_ms"),
        figure(it, "search", "cpu_ms"),
        figure(it, "cold", "cpu_ms"),
        f"{it['peak_add_mb']:.0f} / {it['peak_search_mb']:.0f}" if "peak_search_mb" in it else "–",
        f"{disk['apparent_mb']:.1f} / {disk['allocated_mb']:.1f}" if disk else "–",
    ]


def wall(name: str, it: dict) -> list[str]:
    spread = [
        f"{it[part]['wall_p50_ms']:.0f} / {it[part]['wall_p95_ms']:.0f}" if part in it else "–"
        for part in ("add_one", "search", "cold")
    ]
    return [name, figure(it, "add_many", "wall_ms"), *spread, f"{it['stolen_percent']} %", it["load_before"]]


def recall(name: str, it: dict) -> list[list[str]]:
    rows = {name: it, **{f"{name}, {variant}": its for variant, its in it.get("variants", {}).items()}}
    return [
        [
            title,
            *(f"{its['recall']['all'][f'at_{k}']:.1f}" for k in (1, 5, 10)),
            *(f"{its['recall'][style]['at_10']:.1f}" for style in ("symptom", "cause", "identifier")),
            f"{its['recall']['all']['answered']:.1f}",
            f"{its['search']['answer_bytes'] / 1e3:.1f}",
        ]
        for title, its in rows.items()
        if "recall" in its
    ]


def about(name: str, it: dict) -> str:
    notes = "; ".join(f"{what}: {note}" for what, note in it["notes"].items())
    stopped = f" **Stopped:** {it['stopped']}." if "stopped" in it else ""
    return f"- **{name}** {it['version']}, measured {it['date']}, {it['minutes']} minutes, network: {it['network']}.{stopped} {notes}."


def stored(it: dict) -> str:
    return f"{it['stored']:,}" if "stored" in it else "–"


def figure(it: dict, part: str, key: str) -> str:
    if part not in it:
        return "–"
    value = it[part][key]
    return f"{value:,.0f}" if 100 <= value else f"{value:.1f}" if 10 <= value else f"{value:.2f}"


def table(head: list[str], rows: list[list[str]]) -> str:
    line = "|".join(["---", *["--:"] * (len(head) - 1)])
    return "\n".join([f"| {' | '.join(head)} |", f"|{line}|", *(f"| {' | '.join(row)} |" for row in rows)])


if __name__ == "__main__":
    main()
