"""What a run asks a model for, as the API receives it and as a run is started."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from benchmark_tasks.models import SuiteVersion
from submissions.domain.publishing import CODE_LICENCES
from submissions.enums import Inputs, Kind, Scaffold, Weights

Licence = Literal["", *CODE_LICENCES]  # type: ignore[valid-type]
USUAL_SECONDS: Final = 6 * 3600


class Order(BaseModel):
    """``tasks`` are slugs; none means every task that accepts answers. Limits are for the whole run."""

    inputs: Literal[*Inputs.values] = Inputs.FULL.value  # type: ignore[valid-type]
    scaffold: Literal[*Scaffold.values] = Scaffold.NONE.value  # type: ignore[valid-type]
    trials: int = 1
    tasks: list[str] = []
    system: str = Field(default="", description="The name on the board; default: the model's name.")
    organisation: str = ""
    weights: Literal["", *Weights.values] = ""  # type: ignore[valid-type]
    knowledge_cutoff: str = Field(default="", description="Of the model, by its vendor: a month such as 2024-06.")
    notes: str = ""
    run_tokens: int | None = None
    run_dollars: Decimal | None = None
    run_seconds: int | None = None
    publish_licence: Licence = ""


class RunOrder(Order):
    """A run to start on a suite version. Tasks left out count as not attempted. ``estimate`` was shown before."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    version: SuiteVersion
    run_seconds: int = USUAL_SECONDS
    kind: Kind = Kind.RANKED
    estimate: dict[str, Any] = {}
