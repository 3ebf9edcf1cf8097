"""What others published about LMR-BENCH."""
