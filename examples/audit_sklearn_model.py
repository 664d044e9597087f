"""A scikit-learn model to audit: a random forest that tells malignant tumours from benign ones.

    python examples/audit_sklearn_model.py
    harness audit examples/audit_sklearn_model.py:predict --members members.csv --nonmembers nonmembers.csv \
        --label diagnosis --train examples/audit_sklearn_model.py:train

The first line trains it and writes `model.joblib`, with the records that it was trained on and those that it was not,
to the current folder. A model of one's own is there already: `predict` is then all that an audit needs, and `train`
what makes LiRA and RMIA possible.
"""

from __future__ import annotations

import joblib
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

LABEL = "diagnosis"


def predict(features: pd.DataFrame) -> np.ndarray:
    """Probabilities of the classes, (n, 2), by the model that was trained before."""
    probabilities: np.ndarray = joblib.load("model.joblib").predict_proba(features)
    return probabilities


def train(features: pd.DataFrame, labels: np.ndarray, seed: int) -> RandomForestClassifier:
    """Such a model, on other records."""
    return RandomForestClassifier(n_estimators=50, random_state=seed).fit(features, labels)


def main() -> None:
    """Divide the records into two halves, train on the first, and write everything."""
    data = load_breast_cancer(as_frame=True)
    table = data.data.assign(**{LABEL: data.target_names[data.target]}).sample(frac=1, random_state=0)
    members, nonmembers = table[: len(table) // 2], table[len(table) // 2 :]
    members.to_csv("members.csv", index=False)
    nonmembers.to_csv("nonmembers.csv", index=False)
    joblib.dump(train(members.drop(columns=LABEL), members[LABEL].to_numpy(), seed=0), "model.joblib")
    print(f"model.joblib, members.csv ({len(members)} records), nonmembers.csv ({len(nonmembers)} records)")


if __name__ == "__main__":
    main()
