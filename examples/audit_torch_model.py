"""A PyTorch model to audit: a network that reads handwritten digits, as a function from arrays to logits.

    python examples/audit_torch_model.py
    harness audit examples/audit_torch_model.py:predict --logits --members members.npz --nonmembers nonmembers.npz \
        --reference reference.npz --train examples/audit_torch_model.py:train

The first line trains it and writes `model.pt` and the records to the current folder. PyTorch is imported here alone,
not by the harness; records are arrays of NumPy on the way in and on the way out.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from sklearn.datasets import load_digits

EPOCHS, LEARNING_RATE, HIDDEN = 60, 0.01, 64


def predict(features: np.ndarray) -> np.ndarray:
    """Logits of the ten digits, (n, 10), by the model that was trained before."""
    network = _network()
    network.load_state_dict(torch.load("model.pt"))
    return _logits(network)(features)


def train(features: np.ndarray, labels: np.ndarray, seed: int) -> Callable[[np.ndarray], np.ndarray]:
    """Such a model, on other records, as the function that asks it."""
    return _logits(_fit(features, labels, seed))


def _network() -> torch.nn.Sequential:
    return torch.nn.Sequential(torch.nn.Linear(64, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, 10))


def _fit(features: np.ndarray, labels: np.ndarray, seed: int) -> torch.nn.Sequential:
    torch.manual_seed(seed)
    network = _network()
    optimizer = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
    inputs, targets = torch.from_numpy(features), torch.from_numpy(labels)
    for _ in range(EPOCHS):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(network(inputs), targets).backward()
        optimizer.step()
    return network


def _logits(network: torch.nn.Sequential) -> Callable[[np.ndarray], np.ndarray]:
    """The network as a function of arrays; in evaluation mode, so that it says the same whenever it is asked."""
    network.eval()

    def logits(features: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            answer: np.ndarray = network(torch.from_numpy(features)).numpy()
        return answer

    return logits


def main() -> None:
    """Divide the records into thirds, train on the first, and write everything."""
    features, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    for name, places in zip(("members", "nonmembers", "reference"), np.array_split(order, 3), strict=True):
        part = (features[places] / 16).astype(np.float32), labels[places].astype(np.int64)
        np.savez(f"{name}.npz", features=part[0], labels=part[1])
        if name == "members":
            torch.save(_fit(*part, seed=0).state_dict(), "model.pt")
    print("model.pt, members.npz, nonmembers.npz, reference.npz")


if __name__ == "__main__":
    main()
