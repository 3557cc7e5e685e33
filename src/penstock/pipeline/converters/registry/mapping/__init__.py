"""Shared parts of the three formats' mappings: names, orders of maps, schemas under construction, and recursive
schemas.
"""
