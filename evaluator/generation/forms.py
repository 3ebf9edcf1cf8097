"""Forms to start a run on an endpoint and to resume a paused one."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, cast

from django import forms
from django.core import signing

from benchmark_tasks.domain.queries import current_version, has_code, runnable_revisions_of
from benchmark_tasks.models import Suite
from evaluator.generation.generating import MOST_TRIALS
from evaluator.generation.orders import RunOrder
from submissions.answers.manifest import LONGEST_NAME, LONGEST_NOTES
from submissions.enums import Inputs, Scaffold
from submissions.forms import ORGANISATION_HELP, ModelFactsForm, SubmitForm, refuse_hidden_characters, usable_name

if TYPE_CHECKING:
    from django.http import QueryDict

    from benchmark_tasks.models import SuiteVersion
    from evaluator.generation.estimating import Estimate
    from submissions.models import Endpoint, User

_MOST_TOKENS = 10**12
_MOST_SECONDS = 7 * 24 * 3600
_SALT = "leaderboard.run-estimate"


def open_versions() -> list[SuiteVersion]:
    """Return the newest version of every suite that accepts answers, by the suite's title."""
    versions = [current_version(suite) for suite in Suite.objects.order_by("title", "slug")]
    return [version for version in versions if version is not None and has_code(version)]


class LimitsForm(forms.Form):
    """A run's limits. An empty limit means none; the time limit is required."""

    run_tokens = forms.IntegerField(
        label="Tokens",
        required=False,
        min_value=1000,
        max_value=_MOST_TOKENS,
        help_text="Input and output together. At a limit the run pauses, and you may raise it.",
    )
    run_dollars = forms.DecimalField(
        label="US dollars",
        required=False,
        min_value=0,
        max_value=100_000,
        max_digits=10,
        decimal_places=4,
        help_text="By the endpoint's prices.",
        widget=forms.NumberInput(attrs={"step": "any"}),
    )
    run_seconds = forms.IntegerField(
        label="Seconds",
        min_value=60,
        max_value=_MOST_SECONDS,
        help_text="From its start, pauses not counted; 21600 are six hours.",
    )

    @staticmethod
    def limits_of(limited: Any) -> dict[str, Any]:
        """Return the limits of an endpoint or a run, as initial values."""
        return {name: getattr(limited, name) for name in LimitsForm.base_fields}

    def limits(self) -> dict[str, Any]:
        """Return the limits. Call it on a valid form."""
        return {name: self.cleaned_data[name] for name in LimitsForm.base_fields}


class RunForm(SubmitForm, ModelFactsForm, LimitsForm):
    """Everything that defines a run. ``estimate`` is the last one that was shown, signed."""

    suite = forms.CharField(widget=forms.HiddenInput)
    estimate = forms.CharField(required=False, max_length=2000, widget=forms.HiddenInput)
    inputs = forms.ChoiceField(
        label="The model is given",
        choices=[(Inputs.FULL.value, "paper, repository's context and instruction (full)")]
        + [(each.value, each.label) for each in Inputs if each != Inputs.FULL],
        initial=Inputs.FULL.value,
        help_text="As in the paper's Table 3. Boards show the three separately.",
    )
    scaffold = forms.ChoiceField(
        label="Scaffold",
        choices=[
            (Scaffold.NONE.value, "standard prompting: one question, one answer"),
            (Scaffold.AGENT.value, "agent: it reads, edits and runs in a sandbox before it answers"),
        ],
        initial=Scaffold.NONE.value,
    )
    trials = forms.IntegerField(
        label="Trials of each task",
        min_value=1,
        max_value=MOST_TRIALS,
        initial=1,
        help_text=f"1 to {MOST_TRIALS}; every trial sends and pays for its own requests.",
    )
    tasks = forms.MultipleChoiceField(
        label="Only these tasks",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="None ticked means all. A counted task that is left out counts as not attempted.",
    )
    system = forms.CharField(
        label="System",
        max_length=LONGEST_NAME,
        help_text="The name on the board.",
        validators=[refuse_hidden_characters],
    )
    organisation = forms.CharField(
        label="Organisation",
        required=False,
        max_length=LONGEST_NAME,
        help_text=ORGANISATION_HELP,
        validators=[refuse_hidden_characters],
    )
    notes = forms.CharField(
        label="Notes",
        required=False,
        max_length=LONGEST_NOTES,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Public, if you publish the run.",
        validators=[refuse_hidden_characters],
    )

    def __init__(self, data: QueryDict | None = None, *, endpoint: Endpoint, version: SuiteVersion, user: User) -> None:
        initial = {"suite": version.suite.slug, "system": endpoint.model[:LONGEST_NAME], **self.limits_of(endpoint)}
        super().__init__(data, initial=initial)
        self._endpoint, self._version, self._user = endpoint, version, user
        slugs = [revision.task.slug for revision in runnable_revisions_of(version)]
        cast("forms.MultipleChoiceField", self.fields["tasks"]).choices = [(slug, slug) for slug in slugs]

    def clean_organisation(self) -> str:
        """Refuse the name of a registered organisation that the user may not use."""
        return usable_name(self._user, self.cleaned_data["organisation"])

    def clean_run_dollars(self) -> Any:
        """Refuse a limit in dollars without prices."""
        dollars = self.cleaned_data["run_dollars"]
        if dollars is not None and self._endpoint.cost(0, 0) is None:
            raise forms.ValidationError(
                "The endpoint has no prices, so the cost is unknown. Add prices to the endpoint."
            )
        return dollars

    def order(self) -> RunOrder:
        """Return the run to start. Call it on a valid form."""
        given = self.cleaned_data
        return RunOrder.model_validate(
            {
                **given,
                "version": self._version,
                "publish_licence": given["licence"] if given["consent"] else "",
                "estimate": self.seen_estimate() or {},
            }
        )

    def signed(self, estimate: Estimate) -> str:
        """Sign ``estimate`` and the order it was made for: it comes back when the run is started."""
        return signing.dumps({"of": self._fingerprint(), "totals": estimate.as_data()}, salt=_SALT)

    def seen_estimate(self) -> dict[str, object] | None:
        """Return the totals of the estimate shown for exactly this order; None without one, or for another order."""
        try:
            seen = signing.loads(self.cleaned_data["estimate"], salt=_SALT)
        except signing.BadSignature:
            return None
        totals: dict[str, object] = seen["totals"]
        return totals if seen["of"] == self._fingerprint() else None

    def _fingerprint(self) -> str:
        """Return a digest that changes with everything the estimate depends on."""
        given, one = self.cleaned_data, self._endpoint
        order = [self._version.pk, *(given[name] for name in ("inputs", "scaffold", "trials", "tasks"))]
        prices = [str(one.price_input), str(one.price_output)]
        facts = [one.pk, one.model, one.max_output_tokens, one.context_tokens, *prices]
        return hashlib.sha256(json.dumps([order, facts]).encode()).hexdigest()
