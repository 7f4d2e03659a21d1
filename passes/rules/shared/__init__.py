"""Helpers that several laws share: views of contractions, maps and nests, edits of maps, small operators."""
