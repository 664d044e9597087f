"""Audits: is a training algorithm as private as is claimed, and which of its records does a model give away?"""
