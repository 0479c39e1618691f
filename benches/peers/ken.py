"""Ken itself, through its command line, because it has no server: every add and every search is a process.

Answers for mapping an entry to Ken's form. Ken wants a citation for every entry and at most three
sentences a statement; both are met here, and said in the notes.
"""

import json
import re

from common import LIMIT, Tool, environment, run

#: The corpus' kinds in Ken's words.
KINDS = {"lesson": "learning", "pitfall": "anti-pattern", "decision": "decision", "howto": "technique", "fact": "learning"}

#: Where a sentence ends, as Ken counts them.
SENTENCE_END = re.compile(r"[.!?] (?=[A-Z])")
SENTENCES_MAX = 3


class Ken(Tool):
    name = "ken"
    #: All at once: Ken makes 100 lines durable at a time by itself.
    batch = 1_000_000
    notes = {
        "mapping": "statement = text, its fourth and later sentences joined by semicolons because Ken refuses more than three; tags = tags; alias = id; kind in Ken's words; citation doc:corpus.md because Ken refuses an entry without one; title and scope are in the text already",
        "add, many": "one `ken add --from-jsonl FILE`, process start to exit",
        "add, one": "one `ken add --content JSON`, process start to exit, durable on return",
        "search": "one `ken search QUERY --format json --limit 10 --threshold none --mean`, process start to exit",
    }

    def version(self) -> str:
        return self._ken("--version").split()[-1]

    def prepare(self) -> None:
        self._store().mkdir()
        run(self.usage, ["git", "init", "--quiet", "--template="], self._store(), self._env(), self.timeout_s)
        self._ken("init")

    def add_many(self, entries: list[dict]) -> None:
        file = self.data / "entries.jsonl"
        file.write_text("".join(json.dumps(_content(it)) + "\n" for it in entries))
        self._ken("add", "--quiet", "--from-jsonl", str(file))

    def add_one(self, entry: dict) -> None:
        self._ken("add", "--quiet", "--content", json.dumps(_content(entry)))

    def search(self, query: str) -> tuple[list[str], int]:
        text = self._ken("search", query, "--format", "json", "--limit", str(LIMIT), "--threshold", "none", "--mean")
        return [hit["entry"]["created"]["alias"] for hit in json.loads(text)["results"]], len(text.encode())

    def stored(self) -> int:
        return len(self._ken("list", "--format", "json", "--limit", "1000000").splitlines())

    def _ken(self, *arguments: str) -> str:
        cwd = self._store() if self._store().exists() else self.data
        return run(self.usage, [self.home / "ken", *arguments], cwd, self._env(), self.timeout_s)

    def _env(self) -> dict[str, str]:
        return environment(self.data, KEN_ACTOR="agent:peers", GIT_CONFIG_NOSYSTEM="1")

    def _store(self):
        return self.data / "store"


def _content(entry: dict) -> dict:
    return {
        "id": entry["id"],
        "kind": KINDS[entry["kind"]],
        "statement": _three_sentences(entry["text"]),
        "tags": entry["tags"],
        "cite": ["doc:corpus.md"],
    }


def _three_sentences(text: str) -> str:
    ends = list(SENTENCE_END.finditer(text))
    for end in reversed(ends[SENTENCES_MAX - 1 :]):
        text = f"{text[: end.start()]}; {text[end.end() :]}"
    return text
