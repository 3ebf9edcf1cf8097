"""Gather what lies behind a number: submissions, answers, model calls, cases, tasks."""
