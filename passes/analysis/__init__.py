"""Analyses: they answer questions of passes about a program, and change nothing."""
