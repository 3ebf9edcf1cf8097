"""Form that registers or changes a model endpoint. It accepts a key and never returns one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from django import forms
from django.core.exceptions import ValidationError

from submissions.domain.endpoints import DESCRIBED
from submissions.endpoints.addresses import LONGEST, problem
from submissions.enums import PROVIDERS, Api, OutputLimit, Provider
from submissions.forms import TeamField, refuse_hidden_characters

if TYPE_CHECKING:
    from submissions.models import Endpoint, User

LONGEST_KEY: Final = 1000
_EFFORTS: Final = ("minimal", "low", "medium", "high", "xhigh", "max")
_HIGHEST_PRICE: Final = 100_000
_DAY: Final = 24 * 3600
_KEY_NEEDED_AGAIN: Final = "Keys are never sent back to the browser: enter it again."


@dataclass(frozen=True, slots=True)
class Preset:
    """Initial values for the form, chosen by a link. ``hint`` lists what is left to fill in."""

    slug: str
    title: str
    hint: str
    initial: dict[str, Any]


PRESETS: Final = (
    Preset(
        "openai-responses",
        "OpenAI, Responses",
        "Fill in the dated model id and your key.",
        {"name": "OpenAI", "api": Api.RESPONSES.value, "base_url": PROVIDERS[Provider.OPENAI].address},
    ),
    Preset(
        "openai-chat",
        "OpenAI, Chat Completions",
        "Fill in the dated model id and your key.",
        {"name": "OpenAI Chat", "api": Api.CHAT.value, "base_url": PROVIDERS[Provider.OPENAI].address},
    ),
    Preset(
        "anthropic",
        "Anthropic",
        "Fill in the dated model id and your key.",
        {
            "name": "Anthropic",
            "api": Api.MESSAGES.value,
            "base_url": PROVIDERS[Provider.ANTHROPIC].address,
            "context_tokens": 200_000,
        },
    ),
    Preset(
        "local",
        "A server of your own",
        "vLLM listens on port 8000, Ollama on 11434. The operator has to allow its address; most need no key. "
        "For agents, start vLLM with --enable-auto-tool-choice and --tool-call-parser.",
        {
            "name": "Local model",
            "api": Api.CHAT.value,
            "base_url": "http://127.0.0.1:8000/v1",
            "context_tokens": 32_768,
            "max_output_tokens": 4096,
            "requests_at_once": 1,
            "price_input": 0,
            "price_output": 0,
        },
    ),
)


def preset(slug: str) -> Preset | None:
    """Return the preset with this slug, or None."""
    return next((each for each in PRESETS if each.slug == slug), None)


def _tokens(label: str, help_text: str, *, least: int, most: int, **kwargs: Any) -> forms.IntegerField:
    return forms.IntegerField(label=label, help_text=help_text, min_value=least, max_value=most, **kwargs)


def _dollars(label: str, help_text: str) -> forms.DecimalField:
    return forms.DecimalField(
        label=label,
        help_text=help_text,
        required=False,
        min_value=0,
        max_value=_HIGHEST_PRICE,
        max_digits=10,
        decimal_places=4,
        widget=forms.NumberInput(attrs={"step": "any"}),
    )


class EndpointForm(forms.Form):
    """Register or change an endpoint. ``initial`` never holds its key; an empty key keeps the stored one."""

    name = forms.CharField(
        label="Name",
        max_length=80,
        help_text="For you, to distinguish your endpoints.",
        validators=[refuse_hidden_characters],
    )
    api = forms.ChoiceField(
        label="Interface",
        choices=Api.choices,
        help_text="The server's API. vLLM, Ollama, OpenRouter and most others use OpenAI Chat Completions.",
    )
    base_url = forms.CharField(
        label="Base address",
        max_length=LONGEST,
        help_text="The base URL in the provider's documentation; for OpenAI's protocol it usually ends in /v1.",
        widget=forms.TextInput(
            attrs={
                "inputmode": "url",
                "placeholder": "https://api.example.org/v1",
                "autocomplete": "off",
                "spellcheck": "false",
            }
        ),
    )
    model = forms.CharField(
        label="Model id",
        max_length=120,
        help_text="As the provider writes it. Use a dated version if there is one: undated names can change meaning.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        validators=[refuse_hidden_characters],
    )
    key = forms.CharField(
        label="Key",
        required=False,
        max_length=LONGEST_KEY,
        widget=forms.PasswordInput(render_value=False, attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    keep_key = forms.BooleanField(
        required=False,
        label="Keep the key when a run ends",
        help_text="Otherwise it is deleted once no run is open here, and you enter it again for the next run.",
    )
    temperature = forms.FloatField(
        required=False,
        min_value=0,
        max_value=2,
        help_text="0 to 2. Empty uses the provider's default; some models accept none.",
    )
    top_p = forms.FloatField(
        required=False,
        min_value=0.001,
        max_value=1,
        label="Top-p",
        help_text="Above 0, up to 1. Empty uses the provider's default.",
    )
    effort = forms.ChoiceField(
        required=False,
        label="Reasoning effort",
        choices=[("", "provider's default"), *((each, each) for each in _EFFORTS)],
        help_text="For reasoning models; other models refuse the request.",
    )
    max_output_tokens = _tokens(
        "Longest answer, in tokens",
        "Includes reasoning. If an answer is cut off at this limit, only the code before the cut is tested.",
        least=16, most=1_000_000, initial=8192,
    )  # fmt: skip
    context_tokens = _tokens(
        "Context, in tokens",
        "The most the model can read, including its answer. Longer papers are cut by section, and the cut is shown.",
        least=1024, most=20_000_000, initial=128_000,
    )  # fmt: skip
    output_limit = forms.ChoiceField(
        required=False,
        label="Name of the output limit",
        choices=OutputLimit.choices,
        help_text="For Chat Completions. OpenAI and Azure use the newer name, most other servers the older one.",
    )
    omit_strict = forms.BooleanField(
        required=False,
        label="Leave out strict",
        help_text="For servers that refuse the parameter in tools and schemas, such as some proxies of Anthropic.",
    )
    requests_at_once = _tokens("Requests at once", "1 to 16.", least=1, most=16, initial=2)
    request_seconds = _tokens(
        "Seconds a request may take",
        "10 to 3600. Later answers are lost.",
        least=10,
        most=3600,
        initial=300,
    )
    run_tokens = _tokens(
        "Tokens a run may use",
        "Input and output together. At the limit the run pauses, and you may raise it.",
        least=1000, most=10**12, required=False,
    )  # fmt: skip
    run_dollars = _dollars("US dollars a run may cost", "Requires the prices below. At the limit the run pauses.")
    run_seconds = _tokens(
        "Seconds a run may take",
        "Up to seven days; the default is six hours (21600).",
        least=60,
        most=7 * _DAY,
        initial=6 * 3600,
    )
    price_input = _dollars("Input, US $ per million tokens", "For estimates, costs and the limit above.")
    price_output = _dollars("Output, US $ per million tokens", "Reasoning is output, too.")

    team = TeamField(label="For", help_text="The members of a team use its endpoints together, at the key's cost.")

    def __init__(self, *args: Any, user: User | None = None, has_key: bool = False, **kwargs: Any) -> None:
        """Offer the teams of ``user``, who registers it; a registered endpoint keeps its team."""
        super().__init__(*args, **kwargs)
        if user is None:
            del self.fields["team"]
        else:
            TeamField.offer(self, user)
        self.fields["key"].help_text = (
            "A key is stored. Leave this empty to keep it. Another host or port above erases the stored key."
            if has_key
            else "Stored encrypted, used only for this address, never shown again. Leave it empty if none is needed."
        )

    @classmethod
    def of(cls, endpoint: Endpoint) -> EndpointForm:
        """Return the form filled with the endpoint's current values, except its key."""
        initial = {name: getattr(endpoint, name) for name in cls.base_fields if name not in {"key", "team"}}
        return cls(initial=initial, has_key=endpoint.has_key)

    def clean_base_url(self) -> str:
        """Return the address without trailing slashes. Raises ValidationError with the reason if it is not valid."""
        address: str = self.cleaned_data["base_url"].rstrip("/")
        wrong = problem(address)
        if wrong:
            raise ValidationError(wrong)
        return address

    def clean_key(self) -> str:
        """Return the key. Raises ValidationError if it cannot be sent in an HTTP header."""
        key: str = self.cleaned_data["key"]
        if not key.isascii() or not key.isprintable() or " " in key:
            msg = "A key has no spaces, line breaks or special characters. Copy it again."
            raise ValidationError(msg)
        return key

    def clean(self) -> dict[str, Any]:
        """Require prices in pairs, prices for a dollar limit, and an answer that fits the context."""
        data = super().clean() or self.cleaned_data
        given = [data.get("price_input") is not None, data.get("price_output") is not None]
        if any(given) and not all(given):
            missing = "price_output" if given[0] else "price_input"
            if missing not in self.errors:
                self.add_error(missing, "Give both prices, or none.")
        if data.get("run_dollars") is not None and not any(given):
            self.add_error("run_dollars", "Without prices the cost of a run is unknown: give both below.")
        longest, context = data.get("max_output_tokens"), data.get("context_tokens")
        if longest and context and longest >= context:
            self.add_error("max_output_tokens", "The answer has to leave room for the question in the context.")
        if self.errors and self.data.get("key"):
            self.add_error("key", _KEY_NEEDED_AGAIN)
        return data

    def refuse(self, message: str, *, field: str | None = None) -> None:
        """Add the reason why a valid form was refused; an entered key must be entered again."""
        self.add_error(field, message)
        if self.data.get("key"):
            self.add_error("key", _KEY_NEEDED_AGAIN)

    def described(self) -> dict[str, Any]:
        """Return the endpoint's fields for the domain functions. Call it on a valid form."""
        provider = next(each for each, facts in PROVIDERS.items() if self.cleaned_data["api"] in facts.apis)
        return {name: self.cleaned_data[name] for name in DESCRIBED if name != "provider"} | {
            "provider": provider.value
        }
