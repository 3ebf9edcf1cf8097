"""Write the file of a suite's public answers."""
