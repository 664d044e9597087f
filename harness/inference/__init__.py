"""Inference on means: tests, intervals, confidence sequences and bets, from plain arrays and numbers."""

from harness.inference.anytime import TMixtureCS, TwoStakeCS, t_mixture_cs, t_mixture_ends, two_stake_cs
from harness.inference.betting import BettingMean, Stream, bet_on_streams, bounded_stream
from harness.inference.e_values import calibrate_p_value, e_value_of_bets, e_value_of_t_mixture
from harness.inference.ends import Undecidable, clearer_end
from harness.inference.multiplicity import e_bh, holm
from harness.inference.outcomes import (
    adjust_for_outcomes,
    adjusted_stream,
    repeats_to_see_outcomes,
    stratified_estimate,
)
from harness.inference.quantifiers import partial_conjunction
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
    "adjust_for_outcomes",
    "adjusted_stream",
    "bet_on_streams",
    "bounded_stream",
    "calibrate_p_value",
    "clearer_end",
    "combine_estimates",
    "detectable_effect",
    "difference",
    "e_bh",
    "e_value_of_bets",
    "e_value_of_t_mixture",
    "estimate",
    "hall_transform",
    "holm",
    "inverse_hall_transform",
    "moments",
    "partial_conjunction",
    "pearson",
    "rarity_bound",
    "repeats_needed",
    "repeats_to_see_outcomes",
    "share_at_least",
    "stratified_estimate",
    "t_mixture_cs",
    "t_mixture_ends",
    "two_stake_cs",
]
