"""The report of a profile: figures redrawn, every claim with its verdict and the evidence for it."""
