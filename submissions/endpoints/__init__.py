"""Encrypt model endpoints' keys at rest and validate endpoints' addresses. Does not use Django."""
