"""Analyses: questions that passes ask about a program, which change nothing."""
