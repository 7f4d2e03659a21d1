"""Helpers of several laws: views of contractions, maps and nests, edits of maps, small operators."""
