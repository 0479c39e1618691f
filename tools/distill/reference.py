"""Asks the reference tokenizer: writes the table of characters and what the tests compare with.

    python reference.py PACKAGES CRATE

CRATE is the directory of ken-embed; its `data/rows.i8` and `data/scales.u32` must be there already.
"""

import gzip
import sys
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

import lines
import table
import teacher

WORD, DROPPED, SPACE, ALONE = range(4)
# Every character is checked between two letters; one sum for so many of them.
BLOCK = 4096
# One line in so many gets its vector written down.
VECTOR_EVERY = 100


def every_character():
    return (chr(point) for point in range(0x110000) if not 0xD800 <= point < 0xE000)


def class_of(reference: Tokenizer, character: str) -> int:
    """What becomes of a character between two letters."""
    text = reference.normalizer.normalize_str(f"a{character}b")
    if text == "ab":
        return DROPPED
    words = [word for word, _ in reference.pre_tokenizer.pre_tokenize_str(text)]
    if words == ["a", "b"]:
        return SPACE
    return ALONE if len(words) == 3 else WORD


def runs_of_characters(reference: Tokenizer) -> np.ndarray:
    runs, last = [], None
    for character in every_character():
        found = class_of(reference, character)
        if found != last:
            runs.append(ord(character) << 8 | found)
            last = found
    return np.array(runs, "<u4")


def sum_of(ids: list[int], start: int = 0x811C9DC5) -> int:
    """FNV-1a over the ids, each as a whole number instead of as bytes."""
    for token in ids:
        start = (start ^ token) * 0x01000193 & 0xFFFFFFFF
    return start


def ids_of(reference: Tokenizer, texts: list[str]) -> list[list[int]]:
    return [encoding.ids for encoding in reference.encode_batch(texts, add_special_tokens=False)]


def sums_of_characters(reference: Tokenizer) -> np.ndarray:
    sums = []
    for first in range(0, 0x110000, BLOCK):
        points = [point for point in range(first, first + BLOCK) if not 0xD800 <= point < 0xE000]
        block = sum_of([])
        for ids in ids_of(reference, [f"a{chr(point)}b" for point in points]):
            block = sum_of(ids, block)
        sums.append(block)
    return np.array(sums, "<u4")


def vectors_of(ids: list[list[int]], data: Path) -> np.ndarray:
    rows = np.fromfile(data / "rows.i8", np.int8).reshape(-1, table.DIMENSION).astype(np.float64)
    weighted = rows * np.fromfile(data / "scales.u32", "<u4")[:, None]
    means = np.array([weighted[line].mean(axis=0) if line else np.zeros(table.DIMENSION) for line in ids])
    return (means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-9)).astype("<f4")


def write(path: Path, data: bytes, packed: bool = False) -> None:
    path.write_bytes(gzip.compress(data, 9, mtime=0) if packed else data)
    print(path.name, path.stat().st_size)


def main() -> None:
    packages, crate = Path(sys.argv[1]), Path(sys.argv[2])
    model, tests = teacher.folder(packages), crate / "tests" / "data"
    reference = Tokenizer.from_file(str(model / "tokenizer.json"))
    reference.no_padding()
    reference.no_truncation()
    vocabulary = (model / "vocab.txt").read_text("utf-8").split("\n")
    texts = lines.lines([token for token in vocabulary if token])
    ids = ids_of(reference, texts)
    write(crate / "data" / "characters.u32", runs_of_characters(reference).tobytes())
    write(tests / "lines.txt.gz", "\n".join(texts).encode(), packed=True)
    write(tests / "lines.sums.u32", np.array([sum_of(line) for line in ids], "<u4").tobytes())
    write(tests / "characters.sums.u32", sums_of_characters(reference).tobytes())
    write(tests / "vectors.f32", vectors_of(ids[::VECTOR_EVERY], crate / "data").tobytes())


if __name__ == "__main__":
    main()
