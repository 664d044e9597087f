"""Datasets, where they come from, how they are encoded, and how they are split.

`sources` and `fetch` bring raw bytes and verify them; `datasets/` turns them into one canonical
table per dataset; `encoding` makes features of it; `splits/` draws members, test records,
non-members and shadow data. The package knows nothing of models, attacks or claims.
"""
