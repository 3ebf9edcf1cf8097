"""Turn a task into a prompt, and a model's reply into an answer. No Django here."""
