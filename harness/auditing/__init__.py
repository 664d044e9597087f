"""Auditing: is a training algorithm as private as is claimed? Lower bounds on epsilon from what canaries leave behind.

from harness.auditing import canary_records, many_runs, AUDITORS
trials = many_runs(train, canary_records(), runs=1000, seed=0)
AUDITORS["clopper-pearson"]().bound(trials, delta=1e-5)
"""

from harness.auditing import auditors
from harness.auditing.auditor import AUDITORS, Auditor, Bound, OneRun, Trials
from harness.auditing.canaries import CanaryRecords, canary_records
from harness.auditing.canary_search import Search, seek_canary
from harness.auditing.trials import Train, TrainMany, many_runs, one_at_a_time, score_of

__all__ = [
    "AUDITORS",
    "Auditor",
    "Bound",
    "CanaryRecords",
    "OneRun",
    "Search",
    "Train",
    "TrainMany",
    "Trials",
    "auditors",
    "canary_records",
    "many_runs",
    "one_at_a_time",
    "score_of",
    "seek_canary",
]
