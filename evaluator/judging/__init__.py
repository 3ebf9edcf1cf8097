"""Ask a judge and read its verdict: prompt, answer format, votes, canaries. No Django here."""
