"""Hosts: what each offers, which runs it can take, and what runs wait for."""
