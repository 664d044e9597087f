"""Surveys of a table: every way in which its rows could have become members, in one sequential run."""
