"""What others published about LMR-BENCH: raw files read, shipped as data, loaded as typed records. No Django here."""
