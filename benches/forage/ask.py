"""Asks Ken every question of questions.tsv and writes the first three passages.

Usage: ask.py KEN REPOSITORY {dev|held} OUT
REPOSITORY has lockfiles with the packages, which are installed beside them or in the caches of
their package managers. KEN_FORAGE names a folder with a forage.toml.
"""

import csv
import json
import pathlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

PROCESSES = 8

ken, repository, split, out = sys.argv[1:5]


def ask(row):
    command = [ken, "-C", repository, "forage", row["question"], "--package", row["package"]]
    command += ["--format", "json"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        print(row["id"], answer.stderr.strip(), file=sys.stderr)
        return {"id": row["id"], "question": row["question"], "passages": []}
    passages = json.loads(answer.stdout)["passages"]
    return {"id": row["id"], "question": row["question"], "passages": passages}


with pathlib.Path(__file__).with_name("questions.tsv").open() as questions:
    rows = [row for row in csv.DictReader(questions, delimiter="\t") if row["split"] == split]
with ThreadPoolExecutor(PROCESSES) as pool, open(out, "w") as target:
    for line in pool.map(ask, rows):
        target.write(json.dumps(line) + "\n")
        target.flush()
