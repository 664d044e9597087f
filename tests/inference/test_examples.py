"""The examples of the package and of its page are so; every public function has one, and says what it refuses."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
from collections.abc import Callable

import numpy as np
import pytest

from harness import inference
from harness.inference import (
    bet_on_streams,
    bounded_stream,
    calibrate_p_value,
    e_value_of_bets,
    e_value_of_t_mixture,
    estimate,
    partial_conjunction,
    rarity_bound,
    share_at_least,
)
from tests.conftest import REPO

MODULES = [module.name for module in pkgutil.iter_modules(inference.__path__, "harness.inference.")]
FUNCTIONS = [name for name in inference.__all__ if inspect.isfunction(getattr(inference, name))]
STREAM = bounded_stream(np.array([0.5]), 0.0, 1.0)


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_examples_of_the_page() -> None:
    result = doctest.testfile(str(REPO / "docs" / "inference.md"), module_relative=False)
    assert result.attempted > 15
    assert result.failed == 0


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_function_has_an_example(name: str) -> None:
    assert ">>> " in (getattr(inference, name).__doc__ or "")


def test_what_is_public_is_listed_once_and_in_order() -> None:
    names = {name for name in vars(inference) if not name.startswith("_")}
    assert names - {module.rpartition(".")[2] for module in MODULES} - {"annotations"} <= set(inference.__all__)
    assert len(set(inference.__all__)) == len(inference.__all__)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: estimate(np.array([])), "no values"),
        (lambda: rarity_bound(0, 0.025), "n is 0"),
        (lambda: rarity_bound(6, 1.0), "alpha is 1"),
        (lambda: share_at_least(7, 6, 0.025), "7 of 6 repeats"),
        (lambda: partial_conjunction([0.1, 0.2], 0, 2), "0 needed of 2"),
        (lambda: partial_conjunction([0.1, 0.2], 3, 2), "3 needed of 2"),
        (lambda: partial_conjunction([0.1, 0.2], 1, 1), "1 hypotheses with 2 p-values"),
        (lambda: bet_on_streams([]), "0 streams"),
        (lambda: bet_on_streams([STREAM] * 3), "3 streams"),
        (lambda: calibrate_p_value(0.0), "a p-value of 0;"),
        (lambda: e_value_of_bets(1.5), "a p-value of 1.5;"),
        (lambda: e_value_of_t_mixture(-0.1), "a p-value of -0.1;"),
    ],
)
def test_arguments_that_mean_nothing_are_refused(call: Callable[[], object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        call()
