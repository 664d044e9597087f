"""Inference on means: tests, intervals, confidence sequences and bets, from plain arrays and numbers."""

from harness.inference.betting import BettingMean, bet_on_streams
from harness.inference.correlation import pearson
from harness.inference.e_values import calibrate_p_value, e_value_of_bets, e_value_of_t_mixture
from harness.inference.ends import Undecidable, clearer_end
from harness.inference.equivalence import equivalence_p_values
from harness.inference.estimates import FEWEST, MeanEstimate, SequentialEstimate
from harness.inference.multiplicity import e_bh, holm
from harness.inference.outcomes import (
    adjust_for_outcomes,
    adjusted_stream,
    repeats_to_see_outcomes,
    stratified_estimate,
)
from harness.inference.quantifiers import partial_conjunction
from harness.inference.shares import least_p_value, rarity_bound, share_at_least
from harness.inference.skewness import Moments, hall_transform, inverse_hall_transform, moments, moments_of_all
from harness.inference.streams import Stream, bounded_stream
from harness.inference.t_mixture import TMixtureCS, TwoStakeCS, t_mixture_cs, t_mixture_ends, two_stake_cs
from harness.inference.t_test import (
    MANY,
    Estimate,
    combine_estimates,
    detectable_effect,
    difference,
    estimate,
    repeats_needed,
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
    "equivalence_p_values",
    "estimate",
    "hall_transform",
    "holm",
    "inverse_hall_transform",
    "least_p_value",
    "moments",
    "moments_of_all",
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
