"""What a suite's results show together: live versions of the paper's tables and figures."""
