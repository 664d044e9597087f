"""What is asked in an audit of a model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from harness.errors import HarnessError
from harness.paths import portable_path

FEWEST_MODELS = 12
"""Of a pool: each half of it has then three pairs of models, of which two remain to attack one of the third."""
MOST_MODELS = 10_000


@dataclass(frozen=True)
class Question:
    """Which model, on which records, attacked how."""

    predict: str
    """`file.py:function`, from the features of records to probabilities of classes, or to logits."""
    members: Path
    """Records that the model was trained on: CSV, or .npz with arrays `features` and `labels`."""
    nonmembers: Path
    """Records that it was not trained on, of the same population."""
    label: str | None = None
    """Name of the column to predict (CSV)."""
    reference: Path | None = None
    """Other records that are known to be no members: attacks learn from them. None: a third of the non-members."""
    train: str | None = None
    """`file.py:function`, from features, labels and a seed to a model like the one that is audited."""
    models: int = 16
    """Models of the pool that `train` gives."""
    logits: bool = False
    """Whether `predict` gives logits."""
    fprs: tuple[float, ...] = (0.1, 0.01, 0.001)
    """False-positive rates at which true-positive rates are asked for."""
    classes: tuple[str, ...] = ()
    """Labels in the order of the columns that the model gives; empty: in their own order."""
    ignore: tuple[str, ...] = ()
    """Columns of the files that are neither features nor the label."""
    seed: int = 0
    level: float = 0.95
    """Confidence of the intervals."""

    def __post_init__(self) -> None:
        for fpr in self.fprs:
            if not 0 < fpr < 1:
                raise HarnessError(f"--fpr {fpr:g}: it has to lie between 0 and 1, such as 0.01")
        if not self.fprs:
            raise HarnessError("--fpr: name a false-positive rate, such as --fpr 0.01")
        if not 0 < self.level < 1:
            raise HarnessError(f"--level {self.level:g}: it has to lie between 0 and 1, such as 0.95")
        if not FEWEST_MODELS <= self.models <= MOST_MODELS or self.models % 2:
            raise HarnessError(
                f"--models {self.models}: it has to be an even number from {FEWEST_MODELS} to {MOST_MODELS:,}, since "
                "two models share the records between them"
            )

    def portable(self) -> Question:
        """The same question with the files named as results hold them (`harness.paths.portable_path`)."""
        files = {"members": self.members, "nonmembers": self.nonmembers, "reference": self.reference}
        named = {name: None if path is None else Path(portable_path(str(path))) for name, path in files.items()}
        functions = {"predict": self.predict, "train": self.train}
        called = {name: None if text is None else _portable_function(text) for name, text in functions.items()}
        return replace(self, **named, **called)  # type: ignore[arg-type]


def _portable_function(text: str) -> str:
    """`file.py:function` with the file named as results hold it."""
    path, colon, name = text.rpartition(":")
    return f"{portable_path(path)}{colon}{name}"
