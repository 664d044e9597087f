"""What an experiment may say: arms as differences to it, named axes. What is run follows from here alone."""

from harness.experiment.results import ResultsArm, ResultsFile

__all__ = ["ResultsArm", "ResultsFile"]
