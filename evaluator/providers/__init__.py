"""Call model providers: address checks, one interface over both SDKs, and classified errors. No Django here."""
