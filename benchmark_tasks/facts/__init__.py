"""Facts about benchmarks that the site ships without their code: papers, tasks, categories. No Django here."""
