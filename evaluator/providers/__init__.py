"""Talking to model providers: the guarded way out, both SDKs behind one type, and what can go wrong. No Django here."""
