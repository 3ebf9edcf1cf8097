"""Attacks on the site: hostile answers, hostile bundles, hostile browsers, hostile suite folders."""
