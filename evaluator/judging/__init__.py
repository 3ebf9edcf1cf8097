"""Asking a judge and reading its verdict: prompt, answer format, votes, canaries. No Django here."""
