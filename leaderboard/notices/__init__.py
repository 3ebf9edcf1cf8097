"""Notices: what happened to what somebody sent, appealed against or may label; on the site and by e-mail."""
