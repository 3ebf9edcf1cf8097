"""Draw badges and preview cards."""
