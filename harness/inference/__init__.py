"""Inference on means: tests, intervals, confidence sequences and bets, from plain arrays and numbers."""

from harness.inference.anytime import TMixtureCS, TwoStakeCS, t_mixture_cs, t_mixture_ends, two_stake_cs
from harness.inference.betting import BettingMean, Stream, bet_on_streams
from harness.inference.ends import Undecidable, clearer_end
from harness.inference.multiplicity import e_bh, holm
from harness.inference.statistics import (
    FEWEST,
    MANY,
    Estimate,
    MeanEstimate,
    Moments,
    SequentialEstimate,
    combine_estimates,
    detectable_effect,
    difference,
    estimate,
    hall_transform,
    inverse_hall_transform,
    moments,
    pearson,
    rarity_bound,
    repeats_needed,
    share_at_least,
)

__all__ = [
    "FEWEST",
    "MANY",
    "BettingMean",
    "Estimate",
    "MeanEstimate",
    "Moments",
    "SequentialEstimate",
    "Stream",
    "TMixtureCS",
    "TwoStakeCS",
    "Undecidable",
    "bet_on_streams",
    "clearer_end",
    "combine_estimates",
    "detectable_effect",
    "difference",
    "e_bh",
    "estimate",
    "hall_transform",
    "holm",
    "inverse_hall_transform",
    "moments",
    "pearson",
    "rarity_bound",
    "repeats_needed",
    "share_at_least",
    "t_mixture_cs",
    "t_mixture_ends",
    "two_stake_cs",
]
