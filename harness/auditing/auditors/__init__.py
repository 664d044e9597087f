"""One file an auditor; importing this package registers them all."""

from harness.auditing.auditors import all_thresholds, clopper_pearson, gaussian, one_run

__all__ = ["all_thresholds", "clopper_pearson", "gaussian", "one_run"]
