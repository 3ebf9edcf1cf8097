"""Sizes of one attention layer."""

from dataclasses import dataclass


@dataclass(frozen=True)
class AttentionConfig:
    """`rotary_size` (even) of the `head_size` channels are rotated; `scale` > 1 squeezes positions for longer contexts."""

    head_size: int
    rotary_size: int
    base: float = 10000.0
    scale: float = 1.0

    def __post_init__(self):
        if self.rotary_size % 2 or not 0 <= self.rotary_size <= self.head_size:
            raise ValueError(f"rotary_size {self.rotary_size} must be even and at most head_size {self.head_size}")
