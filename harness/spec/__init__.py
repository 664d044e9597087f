"""Specs: the declarations under `specs/`, loaded with line numbers, checked, merged and hashed."""
