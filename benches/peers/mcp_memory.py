"""The official memory server of the Model Context Protocol (npm `@modelcontextprotocol/server-memory`).

Answers for mapping an entry to one entity. It reads its whole file at every call and writes it anew at
every add; its search looks for the query as one piece of text, without ranking.
"""

import json
import re

from common import LIMIT, Corpus, Mcp, Tool, environment

PACKAGE = "@modelcontextprotocol/server-memory"


class McpMemory(Tool):
    name = "mcp-memory"
    notes = {
        "mapping": "one entity an entry: name = id and title, entityType = kind, one observation = text; tags and scope are in the text already",
        "add, many": "create_entities with 100 entities a call, running MCP server",
        "add, one": "create_entities with one entity, running MCP server",
        "search": "search_nodes with the query as it is; the server returns all matches unranked, the first 10 in its order count",
    }

    def version(self) -> str:
        return json.loads((self._package() / "package.json").read_text())["version"]

    def open(self) -> None:
        env = environment(self.data, MEMORY_FILE_PATH=str(self._store()))
        command = ["node", self._package() / "dist" / "index.js"]
        self._server = Mcp(self.usage, command, self.data, env, self.data / "log", self.timeout_s)

    def close(self) -> None:
        self._server.close()

    def add_many(self, entries: list[dict]) -> None:
        self._server.tool("create_entities", {"entities": [_entity(it) for it in entries]}, self.timeout_s)

    def add_one(self, entry: dict) -> None:
        self.add_many([entry])

    def search(self, query: str) -> tuple[list[str], int]:
        answer = self._server.tool("search_nodes", {"query": query}, self.timeout_s)
        text = answer["content"][0]["text"]
        found = json.loads(text)["entities"][:LIMIT]
        return [entity["name"].split(" ")[0] for entity in found], len(text.encode())

    def stored(self) -> int:
        return sum(1 for _ in self._store().open())

    def variants(self, corpus: Corpus) -> dict[str, dict[str, str]]:
        """An agent that knows the server would ask for one telling word: the rarest, chosen with the corpus in hand."""
        words = {query["q"]: sorted(set(query["q"].split())) for query in corpus.queries}
        seen = dict.fromkeys((word for them in words.values() for word in them), 0)
        patterns = {word: re.compile(re.escape(word.lower())) for word in seen}
        for entry in corpus.entries(0, corpus.size):
            text = f"{entry['title']} {entry['text']}".lower()
            for word, pattern in patterns.items():
                seen[word] += pattern.search(text) is not None
        rarest = {query: min(them, key=lambda word: (seen[word] or corpus.size, word)) for query, them in words.items()}
        return {"the query's rarest word": rarest}

    def _package(self):
        return self.home / "npm" / "node_modules" / PACKAGE

    def _store(self):
        return self.data / "store" / "memory.jsonl"

    def prepare(self) -> None:
        self._store().parent.mkdir()


def _entity(entry: dict) -> dict:
    return {"name": f"{entry['id']} {entry['title']}", "entityType": entry["kind"], "observations": [entry["text"]]}
