"""From a task to a prompt, and from a model's words to an answer. No Django here."""
