"""Surveys of a table: every way in which its rows could have become members, in one sequential run."""

from harness.survey.declaration import SurveyPlan, write_declaration
from harness.survey.member_sets import LeftOut, MemberSet, list_member_sets
from harness.survey.ranking import SetResult, rank

__all__ = ["LeftOut", "MemberSet", "SetResult", "SurveyPlan", "list_member_sets", "rank", "write_declaration"]
