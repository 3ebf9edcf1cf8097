"""Options of the preference objective."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ObjectiveConfig:
    """`beta` > 0 scales the implicit reward, `label_smoothing` lies in [0, 0.5]."""

    beta: float = 0.1
    label_smoothing: float = 0.0
    reference_free: bool = False
