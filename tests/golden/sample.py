"""What `identities.json` remembers: names and seeds of a sample of pieces, and of every plug-in.

It was written before names in the code were first allowed to differ from those that are hashed, and is not written
again: a test that disagrees with it says that a committed number has lost its name. A new plug-in, spec or kind of
piece is added by `python -m tests.golden.write`, which refuses to change an entry that is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from harness.attacks import ATTACKS
from harness.config import Config
from harness.data.dataset import DATASETS, GeneratorDataset
from harness.data.encoding import Preprocessing
from harness.data.split import SPLITS, Sizes
from harness.defences import DEFENCES
from harness.execution.materialize import split_generator
from harness.execution.plan import CellRepeat, Piece, iterate_with_needs
from harness.experiment.axes import Axis, Derived
from harness.experiment.setup import Privacy, ShadowPool
from harness.hashing import fingerprint
from harness.training.model import MODELS
from harness.training.settings import EarlyStopping, Training

SPECS = (
    "harness/engines",  # two engines, three data sets
    "humphries2020/fig2",  # a table's attribute, shadow models
    "humphries2020/fig6",  # a generator
    "jayaraman2019/clipping",  # the same records in every repeat
    "rahimian2021/location30",  # defences, attacks by label alone
    "rahimian2021/location30-queries",  # attacks with axes
    "thudi2022/adult",  # coins over a universe, a pool of halves
    "tramer2025/lira",  # halves, curves
)
"""Of these specs pieces are remembered."""
READINGS = dict.fromkeys(("humphries2020/fig2", "humphries2020/fig6"), "readings/noise-multipliers-null")
"""Of some as a reading has them: what is remembered is of the noise that was their main one when it was written down."""
GENERATED: dict[str, dict[str, Any]] = {
    "mixture": {"m": 5, "sigma": 0.1},
    "mixture, a variance": {"kind": "mixture", "m": 5, "sigma": 0.1, "sigma_is": "variance"},
}
"""Of these generators records are remembered; each built-in one has to be among them."""
GIVEN: dict[str, dict[str, Any]] = {
    "dataset csv": {"path": "table.csv", "label": "y"},
    "split attribute": {"attribute": "age", "values": ["old"]},
    "split cluster": {"clusters": 3, "cluster": 0},
    "split range": {"attribute": "age", "low": 20, "high": 30},
    "split sub-sample": {"probability": 0.5},
    "model function": {
        "path": "mine.py:train",
        "arguments": {"dropout": 0.5},
        "packages": {"torch": "2"},
        "code_of_file": {
            "declared": "mine.py:train",
            "path": "/somewhere/mine.py",
            "files": ["/somewhere/mine.py"],
            "sha256": "0" * 64,
            "takes": ["dropout"],
            "predicts": False,
        },
    },
    "model cnn": {"image": [32, 32, 3], "network": "vgg-like"},
    "attack lira-queries": {"scale": 0.1},
    "attack sampling": {"by": "gaussian", "scale": 0.1},
}
"""What plug-ins need to be given; all else is at its default."""


def table_of(spec: str) -> str:
    """The committed table of whose cells pieces are remembered."""
    return "/".join(("sequential", spec, *([READINGS[spec]] if spec in READINGS else [])))


def pieces(cells: Iterable[CellRepeat]) -> dict[str, Piece]:
    """One piece of each sort, by arm, repeat (0 and 1) and what it is: the first in the order of the plan."""
    result: dict[str, Piece] = {}
    for cell in cells:
        if cell.repeat > 1:
            continue
        roots = {"": cell.target, "model": cell.model}
        roots |= {f"{attack} {dict(where) or ''}".strip(): piece for (attack, where), piece in cell.evaluations.items()}
        for of, root in roots.items():
            for piece in iterate_with_needs(root):
                what = piece.kind
                if piece.kind == "split":
                    what = "split of a universe" if piece.needs else "split"
                if piece.kind == "train":
                    what = f"train {piece.description['role']}"
                if piece.kind in ("fit", "evaluate"):
                    what = f"{piece.kind} {of}"
                result.setdefault(f"{cell.arm}, repeat {cell.repeat}: {what}", piece)
    return result


def identity_of(piece: Piece) -> dict[str, Any]:
    """Its name and its seed."""
    return {"work": piece.work, "seed": piece.seed}


def plugins() -> dict[str, Config]:
    """Every built-in plug-in at its defaults, by sort and `kind`."""
    result: dict[str, Config] = {}
    registries = {"dataset": DATASETS, "split": SPLITS, "model": MODELS, "attack": ATTACKS, "defence": DEFENCES}
    for noun, registry in registries.items():
        for kind, cls in registry:
            if cls.__module__.startswith("harness."):
                result[f"{noun} {kind}"] = cls.model_validate({"kind": kind, **GIVEN.get(f"{noun} {kind}", {})})
    return result


def settings() -> dict[str, Config]:
    """What else a set-up is made of, at its defaults or as given here."""
    return {
        "preprocessing": Preprocessing(),
        "sizes": Sizes(members=10, test=5, nonmembers=10),
        "training": Training(),
        "training, all given": Training(
            momentum=0.5, optimizer="momentum", clipping="batch", epochs_measured="each", early_stopping=EarlyStopping()
        ),
        "privacy": Privacy(epsilons=(1.0,), delta=1e-5),
        "pool": ShadowPool(),
        "pool of halves": ShadowPool(count=4, privacy="like-target", trained_on="halves"),
        "axis": Axis(field="training.batch_size", values=(1.0, 2.0)),
        "derived": Derived.model_validate({"solve": "humphries", "equals": 0.5}),
    }


def hashes() -> dict[str, str]:
    """Hashes of these; of a plug-in, and of a training, of what a piece's description says of it."""
    result = {name: fingerprint(plugin.content()) for name, plugin in plugins().items()}  # type: ignore[attr-defined]
    for name, config in settings().items():
        whole = config.model_dump(mode="json", by_alias=True)
        result[name] = fingerprint(config.content() if isinstance(config, Training) else whole)
        result[f"{name}, in a spec"] = fingerprint(whole)
    return result


def draws(cells: Sequence[CellRepeat]) -> dict[str, int]:
    """The first numbers that the first split draws, for each of its purposes; of a divided universe, what divides it."""
    split = cells[0].split
    result = {
        "split": split_generator(split.root),
        "shadow 1": split_generator(split.root, "shadow", 1),
        "half 1": split_generator(split.root, "half", 1),
    }
    if split.needs:
        result["division"] = split_generator(split)
    return {purpose: int(rng.integers(2**62)) for purpose, rng in result.items()}


def generated() -> dict[str, dict[str, Any]]:
    """By generator and what it names its records by: what it draws from a seed, the numbers in single precision."""
    result = {}
    for name, given in GENERATED.items():
        dataset = DATASETS[given.get("kind", name)].model_validate({"kind": name, **given})
        assert isinstance(dataset, GeneratorDataset)
        rng = np.random.Generator(np.random.Philox(7))
        features, labels = dataset.sample(np.arange(200) % dataset.n_components, rng)
        weights = np.cos(np.arange(features.size)).reshape(features.shape)
        result[f"{name} / {dataset.data_name()}"] = {
            "labels": labels[:40].tolist(),
            "first": features[0].tolist(),
            "sum of labels": int((labels * np.arange(200)).sum()),
            "sum of features": float((features * weights).sum()),
            "shape": list(features.shape),
        }
    return result
