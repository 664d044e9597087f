"""The stages, as `dvc.yaml` and `harness run` call them: resolve, train, attack, judge.

Each stage reads what the one before it wrote and writes finished tables. All of them may be repeated
at will: work that is done is taken from the cell store.
"""
