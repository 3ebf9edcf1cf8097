"""Keys of model endpoints at rest, and what an endpoint's address may look like. No Django here."""
