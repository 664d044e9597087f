"""Controls: tables on which a claim ought to fail, drawn from the measured one, and how often it does fail there.

A claim that is met as often where there is nothing to it as on what was measured has not been tested. `chance` says
what metrics are where scores say nothing; `worlds` draws the tables; `severity` judges a claim on them.
The rules, with what they were simulated on, are in docs/severity.md.
"""
