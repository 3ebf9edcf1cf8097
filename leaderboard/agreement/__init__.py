"""Rater agreement and how sure each number is: pure statistics of counted labels. No Django here."""
