"""Writes scores.csv: what a loss attack scores each record, a row a record, as privacy libraries write it.

`python docs/examples/results/make_scores.py`: scikit-learn's digits (1,797 images, bundled); in each of eight repeats
two random forests of 20 trees, one of full depth and one of depth 3, are fitted to 100 records, and attacked on these
and on 100 others. The score is the log-probability of the record's own label, floored at ln(1e-6).
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

MODELS = {"deep forest": None, "shallow forest": 3}
REPEATS, RECORDS = range(8), 100


def attack(depth: int | None, seed: int) -> list[tuple[int, str]]:
    """Of each record: whether it is a member, and its score."""
    features, labels = load_digits(return_X_y=True)
    inside, outside, own, other = train_test_split(
        features, labels, train_size=RECORDS, test_size=RECORDS, random_state=seed, stratify=labels
    )
    model = RandomForestClassifier(20, max_depth=depth, random_state=seed).fit(inside, own)
    rows = []
    for member, records, truth in ((1, inside, own), (0, outside, other)):
        probabilities = model.predict_proba(records)[np.arange(RECORDS), truth]
        rows += [(member, f"{np.log(max(p, 1e-6)):.4f}") for p in probabilities]
    return rows


if __name__ == "__main__":
    with Path(__file__).with_name("scores.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["model", "trial", "membership", "score"])
        for name, depth in MODELS.items():
            for seed in REPEATS:
                writer.writerows((name, seed, member, score) for member, score in attack(depth, seed))
