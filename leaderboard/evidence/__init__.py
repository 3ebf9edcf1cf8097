"""Collect the evidence for the board's numbers: submissions, answers, model calls, cases, tasks."""
