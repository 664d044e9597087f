"""Two models of scikit-learn as training functions."""

from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression


def train_forest(records, labels, seed):
    return RandomForestClassifier(n_estimators=20, random_state=seed).fit(records, labels)


def train_linear(records, labels, epochs):
    return LogisticRegression(max_iter=epochs).fit(records, labels)
