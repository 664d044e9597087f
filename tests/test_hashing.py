"""Seeds and names must never change silently: results are keyed by them."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import hashing
from harness.imports import closure

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def test_pinned_values() -> None:
    """First eight bytes of SHA-256 of '[1,"a",2]', shifted, computed with sha256sum."""
    assert hashing.canonical_json([1, "a", {"b": 2, "a": 0.1}]) == '[1,"a",{"a":0.1,"b":2}]'
    assert hashing.fingerprint([]) == "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"
    assert hashing.derive_seed(1, "a", 2) == 4456642070398748380


@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_key_order_does_not_matter(value: dict) -> None:
    assert hashing.fingerprint(value) == hashing.fingerprint(dict(reversed(list(value.items()))))


@given(st.integers(0, 2**31), st.lists(st.integers(0, 50), max_size=3), st.lists(st.integers(0, 50), max_size=3))
def test_different_coordinates_give_different_seeds(root: int, one: list[int], two: list[int]) -> None:
    assert (hashing.derive_seed(root, *one) == hashing.derive_seed(root, *two)) == (one == two)


def test_code_fingerprint_ignores_words_and_sees_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    texts = {
        "fp_a": 'def f(x):\n    """Doc."""\n    return x + 1  # why\n',
        "fp_b": "def f(x):\n\n    return (x + 1)\n",
        "fp_c": "def f(x):\n    return x + 2\n",
    }
    prints = {}
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(text)
        prints[name] = hashing._module_fingerprint(name)
        sys.modules.pop(name, None)
    assert prints["fp_a"] == prints["fp_b"] != prints["fp_c"]


@pytest.mark.parametrize(
    "block",
    [
        "if x:\n    {}",
        "if x:\n    y = 1\nelse:\n    {}",
        "for x in y:\n    {}",
        "with x:\n    {}",
        "try:\n    y = 1\nexcept ValueError:\n    {}",
        "try:\n    y = 1\nfinally:\n    {}",
        "match x:\n    case 1:\n        {}",
        "class X:\n    {}",
        "async def g():\n    {}",
    ],
)
def test_docstrings_in_any_block_are_words(block: str) -> None:
    with_words, without = (
        ast.dump(hashing._without_docstrings(ast.parse(block.format(f"def f(): {body}"))))
        for body in ("'Doc.'; return 1", "return 1")
    )
    assert with_words == without


def test_array_digest_sees_shape_dtype_and_values() -> None:
    base = {"a": np.arange(6, dtype=np.int32)}
    same = {"a": np.arange(6, dtype=np.int32).copy()}
    others = [
        {"a": np.arange(6, dtype=np.int64)},
        {"a": np.arange(6, dtype=np.int32).reshape(2, 3)},
        {"b": np.arange(6, dtype=np.int32)},
        {"a": np.arange(1, 7, dtype=np.int32)},
    ]
    assert hashing.digest_arrays(base) == hashing.digest_arrays(same)
    assert len({hashing.digest_arrays(x) for x in [base, *others]}) == 5


def test_the_code_of_a_plug_in_is_its_module_and_what_that_imports_of_its_package() -> None:
    """Found by reading the imports, not from a list: another attack's code is no part of it."""
    from harness.attacks.logloss import Logloss
    from harness.attacks.shokri import Shokri

    result = closure(Shokri.__module__, packages=("harness.attacks",))
    assert set(result) == {
        f"harness.attacks.{name}" for name in ("shokri", "learned", "networks", "attack", "pool", "target", "threshold")
    }
    assert Shokri().code != Logloss().code


def test_a_closure_leads_through_packages_and_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "cl_house"
    (package / "rooms").mkdir(parents=True)
    texts = {
        "__init__": "raise RuntimeError('run')",
        "door": "from typing import TYPE_CHECKING\nfrom cl_house.rooms import chair, bed\nimport json\n"
        "if TYPE_CHECKING:\n    import cl_house.seen\ndef f():\n    from . import lazy\n",
        "seen": "",
        "lazy": "from cl_house import rooms",
        "rooms/__init__": "from cl_house.rooms.hall import seat as chair\nfrom cl_house.rooms import hall, attic\n",
        "rooms/hall": "seat = 1",
        "rooms/bed": "",
        "rooms/attic": "",
    }
    for name, text in texts.items():
        (package / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    result = closure("cl_house.door")
    assert result == ("cl_house.door", "cl_house.lazy", "cl_house.rooms.bed", "cl_house.rooms.hall")
    assert "cl_house" not in sys.modules
    with pytest.raises(ModuleNotFoundError, match=r"cl_house\.cellar"):
        closure("cl_house.cellar")


def test_the_judge_rests_on_what_decides_a_claim() -> None:
    result = set(closure("harness.verdicts.check", "harness.claims.kinds.compare"))
    claims = ("claims.combine", "claims.contrasts", "claims.samples", "claims.judgement", "claims.testing")
    others = ("inference.t_test", "verdicts.points", "verdicts.measured")
    assert result >= {f"harness.{name}" for name in (*claims, *others)}
    assert "harness.claims.kinds.interior_peak" not in result
