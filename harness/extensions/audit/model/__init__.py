"""Audits of a model that exists: what it gives away of the records that it was trained on.

from harness.extensions.audit.model import Question, audit_model
audit = audit_model(Question("mine.py:predict", Path("members.csv"), Path("nonmembers.csv"), label="y"))
"""

from harness.extensions.audit.model.audit import ModelAudit, audit_model
from harness.extensions.audit.model.question import Question

__all__ = ["ModelAudit", "Question", "audit_model"]
