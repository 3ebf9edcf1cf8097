"""The maintainers' forms about judges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from django import forms

from benchmark_tasks.models import Suite
from evaluator.judging.configs import MOST_VOTES, VOTES, VOTES_WHEN_SPLIT
from leaderboard.board.board import titles_told_apart
from submissions.forms import LONGEST_REASON
from submissions.models import Endpoint

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evaluator.models import JudgeConfig
    from submissions.models import User

NONE_SHOWN = "none"


class AddJudgeForm(forms.Form):
    """Makes a judge from one of one's own endpoints."""

    endpoint = forms.ModelChoiceField(
        Endpoint.objects.none(),
        label="Endpoint",
        empty_label=None,
        help_text="Model, address, sampling and prices are copied from it; its key is used for the votes.",
        error_messages={"required": "Choose an endpoint.", "invalid_choice": "You have no such endpoint."},
    )
    name = forms.CharField(
        max_length=80,
        label="Name",
        help_text="As boards show it, for example the model and its date.",
    )
    vendor = forms.CharField(
        max_length=60,
        label="Vendor",
        help_text="Whose model it is. Pages disclose where a judged system is of the same one: judges favour their own "
        "family.",
    )
    votes = forms.IntegerField(
        initial=VOTES,
        min_value=1,
        max_value=MOST_VOTES,
        label="Votes",
        help_text="How often each answer is judged. An odd number.",
    )
    votes_when_split = forms.IntegerField(
        initial=VOTES_WHEN_SPLIT,
        min_value=1,
        max_value=MOST_VOTES,
        label="Votes when split",
        help_text="How many votes there are when the first ones differ. An odd number.",
    )

    def __init__(self, data: Any = None, *, owner: User) -> None:
        super().__init__(data)
        field = cast("forms.ModelChoiceField[Endpoint]", self.fields["endpoint"])
        field.queryset = Endpoint.objects.filter(owner=owner)

    def clean(self) -> dict[str, Any]:
        """Odd numbers can decide; and more votes, not fewer, when split."""
        given: dict[str, Any] = super().clean() or self.cleaned_data
        votes, when_split = given.get("votes"), given.get("votes_when_split")
        for name, number in (("votes", votes), ("votes_when_split", when_split)):
            if number is not None and number % 2 == 0:
                self.add_error(name, "Give an odd number, so that two labels cannot have equally many.")
        if votes is not None and when_split is not None and when_split < votes:
            self.add_error("votes_when_split", f"Give at least as many as there are votes ({votes}).")
        return given


class SuiteForm(forms.Form):
    """Chooses the suite that a judge is to judge."""

    suite = forms.ModelChoiceField(
        Suite.objects.all(),
        to_field_name="slug",
        label="Suite",
        empty_label=None,
        error_messages={"required": "Choose a suite.", "invalid_choice": "There is no such suite."},
    )

    def __init__(self, data: Any = None, *, suites: Iterable[Suite] | None = None) -> None:
        """Offers ``suites`` (all, unless some are given)."""
        super().__init__(data)
        offered = titles_told_apart(Suite.objects.all() if suites is None else suites)
        choices = [(suite.slug, title) for suite, title in offered]
        cast("forms.ModelChoiceField[Suite]", self.fields["suite"]).choices = choices


class ShowForm(forms.Form):
    """Confirms that a suite's board is to show a judge. ``instead_of`` is the one that it showed to the maintainer."""

    suite = forms.ModelChoiceField(Suite.objects.all(), to_field_name="slug", widget=forms.HiddenInput)
    instead_of = forms.CharField(max_length=80, widget=forms.HiddenInput)
    reason = forms.CharField(
        label="Reason",
        max_length=LONGEST_REASON,
        help_text="Public: it stands with the change on the pages of both judges.",
        widget=forms.Textarea(attrs={"rows": 2}),
    )

    @classmethod
    def of(cls, suite: Suite, shown: JudgeConfig | None) -> ShowForm:
        """The form for ``suite``, whose board shows ``shown`` now."""
        return cls(initial={"suite": suite.slug, "instead_of": shown.slug if shown else NONE_SHOWN})
