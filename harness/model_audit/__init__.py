"""Audits of a model that exists: what it gives away of the records that it was trained on.

from harness.model_audit import Question, audit_model
audit = audit_model(Question("mine.py:predict", Path("members.csv"), Path("nonmembers.csv"), label="y"))
"""

from harness.model_audit.audit import ModelAudit, audit_model
from harness.model_audit.question import Question

__all__ = ["ModelAudit", "Question", "audit_model"]
