"""basic-memory (PyPI `basic-memory`) with its SQLite store and full-text search.

Answers for mapping an entry to one Markdown note. Its semantic search is off: the model it would use is
fetched from a hub when first needed, and the runs have no network.
"""

import json
import sqlite3
from pathlib import Path

from common import LIMIT, Mcp, Tool, environment, run

PROJECT = "main"


class BasicMemory(Tool):
    name = "basic-memory"
    #: Its door for many is a folder of files; so many at a time, to know how far it came when time is up.
    batch = 500
    fills_closed = True
    notes = {
        "mapping": "one note an entry: title = id and title, body = text, tags = tags",
        "add, many": "Markdown files written into the project's folder (not counted), then `bm reindex --search` after every 500, its start included",
        "add, one": "write_note, running MCP server",
        "search": "search_notes with search_type text and page_size 10, running MCP server",
        "set": "semantic search off: its model is fetched from a hub when first used, and the runs have no network",
    }

    def version(self) -> str:
        code = "from importlib.metadata import version; print(version('basic-memory'))"
        python = self.home / "basic" / "bin" / "python"
        return run(self.usage, [python, "-c", code], self.data, self._env(), self.timeout_s).strip()

    def prepare(self) -> None:
        self._notes().mkdir(parents=True)
        (self.data / "store" / "config").mkdir()
        run(self.usage, [self._bm(), "status"], self.data, self._env(), self.timeout_s)

    def open(self) -> None:
        self._server = Mcp(self.usage, [self._bm(), "mcp"], self.data, self._env(), self.data / "log", self.timeout_s)

    def close(self) -> None:
        self._server.close()

    def add_many(self, entries: list[dict]) -> None:
        folder = self._notes() / "k"
        folder.mkdir(exist_ok=True)
        for entry in entries:
            tags = "".join(f"- {tag}\n" for tag in entry["tags"])
            head = f"---\ntitle: {json.dumps(_title(entry))}\ntype: note\ntags:\n{tags}---\n\n"
            (folder / f"{entry['id']}.md").write_text(f"{head}{entry['text']}\n")
        command = [self._bm(), "reindex", "--search", "--project", PROJECT]
        run(self.usage, command, self.data, self._env(), self.timeout_s)

    def add_one(self, entry: dict) -> None:
        note = {"title": _title(entry), "content": entry["text"], "directory": "k", "tags": entry["tags"]}
        self._server.tool("write_note", note, self.timeout_s)

    def search(self, query: str) -> tuple[list[str], int]:
        asked = {"query": query, "page_size": LIMIT, "search_type": "text", "output_format": "json"}
        answer = self._server.tool("search_notes", asked, self.timeout_s)
        text = answer["content"][0]["text"]
        results = json.loads(text)["results"]
        return [hit["title"].split(" ")[0] for hit in results[:LIMIT]], len(text.encode())

    def stored(self) -> int:
        (database,) = (self.data / "store" / "config").glob("*.db")
        with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
            return connection.execute("select count(*) from entity").fetchone()[0]

    def _bm(self) -> Path:
        return self.home / "basic" / "bin" / "bm"

    def _notes(self) -> Path:
        return self.data / "store" / "notes"

    def _env(self) -> dict[str, str]:
        return environment(
            self.data,
            BASIC_MEMORY_HOME=str(self._notes()),
            BASIC_MEMORY_CONFIG_DIR=str(self.data / "store" / "config"),
            BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED="false",
            BASIC_MEMORY_SYNC_CHANGES="false",
            BASIC_MEMORY_NO_PROMOS="1",
            BASIC_MEMORY_AUTO_UPDATE="false",
            HF_HUB_OFFLINE="1",
        )


def _title(entry: dict) -> str:
    return f"{entry['id']} {entry['title'].replace('/', '-')}"
