"""Hostile submissions, kept to be fired at the evaluator again and again: none may pass, and none may leave a trace.

``corpus`` lists them, ``rounds`` fires them. No Django here.
"""
