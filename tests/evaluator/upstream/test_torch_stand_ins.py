"""Probes of LMR-BENCH that need PyTorch or pandas, on made-up answers: stand-ins, gradients, files, data frames."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluator.testing import box
from tests.evaluator.upstream.probes import answers, cases_of, error, outputs

pytestmark = pytest.mark.bubblewrap

EMOJI = "14-EmojiCrypt/1"
TABULAR = """
from functools import partial
import numpy as np, torch
from openai import OpenAI
from sentence_transformers import SentenceTransformer, util
from sklearn.metrics.pairwise import cosine_similarity

def level(text):
    return text.split(", Value: ")[1]

def compute_mean_cosine_similarity(pairs):
    first, second = [level(k) for k in pairs], [level(v) for v in pairs.values()]
    def mean(a, b):
        return sum(cosine_similarity([x], [y]).item() for x, y in zip(a, b)) / len(pairs)
"""
UNREAD = TABULAR.replace("    first, second = [level(k) for k in pairs], [level(v) for v in pairs.values()]\n", "")
DRAWN = "    return mean(*zip(*[({0}, {0}) for _ in pairs]))\n"
EMBEDDED = {
    "tensors": """
    model = SentenceTransformer("all-MiniLM-L6-v2", device="cuda")
    a = model.encode(first, convert_to_tensor=True, show_progress_bar=False, batch_size=2)
    return util.cos_sim(a, model.encode(second, convert_to_tensor=True)).diagonal().mean()
""",
    "normalised": """
    encode = partial(SentenceTransformer("paraphrase-MiniLM-L3-v2").encode, normalize_embeddings=True)
    return np.mean([encode(a) @ encode(b) for a, b in zip(first, second)])
""",
    "list of tensors": """
    encode = SentenceTransformer("bert-base-nli-mean-tokens").encode
    a, b = (encode(texts, convert_to_numpy=False) for texts in (first, second))
    return np.mean([util.pytorch_cos_sim(x, y).item() for x, y in zip(a, b)])
""",
    "a model that normalises": """
    model = SentenceTransformer("sentence-transformers/all-mpnet-base-v2")
    return util.dot_score(model.encode(first), model.encode(second)).diagonal().mean()
""",
    "the model's similarity": """
    model = SentenceTransformer("all-MiniLM-L6-v2")
    assert model.encode(first[0]).shape == (model.get_sentence_embedding_dimension(),) == (384,)
    return float(model.similarity_pairwise(model.encode(first), model.encode(second)).mean())
""",
    "a named similarity, shorter vectors, several processes": """
    from sentence_transformers import SimilarityFunction
    model = SentenceTransformer("gtr-t5-base", truncate_dim=64, similarity_fn_name=SimilarityFunction.DOT_PRODUCT)
    pool = model.start_multi_process_pool()
    a, b = (model.encode_multi_process(texts, pool) for texts in (first, second))
    model.stop_multi_process_pool(pool)
    assert a.shape[1] == model.get_sentence_embedding_dimension() == 64
    assert model.encode(first, truncate_dim=32).shape[1] == 32
    assert SimilarityFunction.to_similarity_fn("cosine") is util.cos_sim
    return model.similarity_pairwise(a, b).mean()
""",
    "OpenAI": """
    create = OpenAI(api_key="k").embeddings.create
    a, b = (create(input=t, model="text-embedding-3-small", dimensions=200).data for t in (first, second))
    return np.mean([np.dot(x.embedding, y.embedding) for x, y in zip(a, b)])
""",
    "OpenAI's old client": """
    import openai
    def embed(text):
        return openai.Embedding.create(input=[text], engine="text-embedding-ada-002")["data"][0]["embedding"]
    return mean(map(embed, first), map(embed, second))
""",
    "OpenAI's old helpers": """
    from openai.embeddings_utils import cosine_similarity as cosine, get_embedding, get_embeddings
    a = get_embeddings(first, engine="text-embedding-ada-002")
    return np.mean([cosine(x, get_embedding(text, "text-embedding-ada-002")) for x, text in zip(a, second)])
""",
    "OpenAI's client for coroutines": """
    import asyncio, json
    from openai import AsyncOpenAI
    async def embed(texts):
        async with AsyncOpenAI() as client:
            reply = await client.embeddings.create(input=texts, model="text-embedding-3-large")
        return [each["embedding"] for each in json.loads(reply.model_dump_json())["data"]]
    return mean(asyncio.run(embed(first)), asyncio.run(embed(second)))
""",
    "errors that may be caught": """
    import openai
    with OpenAI(timeout=5) as client:
        try:
            reply = client.copy(max_retries=2).embeddings.create(input=first + second, model="text-embedding-3-small")
        except (openai.RateLimitError, openai.APITimeoutError, openai.AuthenticationError, openai.error.Timeout):
            raise
    return mean(*np.split(np.array([each.embedding for each in reply.data]), 2))
""",
    "rand": DRAWN.format("np.random.rand(100)"),
    "random": DRAWN.format("np.random.random((1, 200))[0]"),
    "default_rng": "    rng = np.random.default_rng(1)\n" + DRAWN.format("rng.standard_normal(300)"),
    "RandomState": "    rng = np.random.RandomState(1)\n" + DRAWN.format("rng.uniform(size=8)"),
    "torch": DRAWN.format("torch.randn(128).numpy()"),
}


@pytest.fixture
def probe(tmp_path: Path, torch_packages: Path) -> Any:
    """Answers of a probe on files, with the packages of the environment ``torch``."""
    return partial(answers, folder=tmp_path / "box", packages=torch_packages)


def mean_cosine(case: dict[str, Any]) -> float:
    unit = case["vectors"] / np.linalg.norm(case["vectors"], axis=1, keepdims=True)
    return float((unit[::2] * unit[1::2]).sum(axis=1).mean())


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.smoke] if name == "tensors" else []) for name in EMBEDDED]
)
def test_embeddings_through_every_interface(name: str, probe: Any) -> None:
    cases = cases_of(EMOJI)
    found = [
        output["similarity"] for output in outputs(probe(EMOJI, {"Tabular.py": TABULAR + EMBEDDED[name]}, cases=cases))
    ]
    assert found == pytest.approx([mean_cosine(case) for case in cases], rel=1e-5, abs=5e-6)


@pytest.mark.parametrize("texts", ["list(pairs), list(pairs.values())", "first, list(pairs.values())"])
def test_whole_descriptions_have_other_embeddings_than_levels(texts: str, probe: Any) -> None:
    body = f"""
    encode = SentenceTransformer("all-MiniLM-L6-v2").encode
    return mean(*map(encode, ({texts})))
"""
    cases = cases_of(EMOJI)
    for case, output in zip(cases, outputs(probe(EMOJI, {"Tabular.py": TABULAR + body}, cases=cases)), strict=True):
        assert output["similarity"] != pytest.approx(mean_cosine(case), abs=1e-3)


@pytest.mark.parametrize("draw", ["np.random.rand(100)", "np.random.default_rng(1).random(100)", "torch.rand(100)"])
def test_an_answer_that_draws_and_reads_no_text_fails(draw: str, probe: Any) -> None:
    found = error(probe(EMOJI, {"Tabular.py": UNREAD + DRAWN.format(draw)}, cases=cases_of(EMOJI)))
    assert found.startswith("DrawnForNothingError: an embedding was drawn for a level that was not read: ")


@pytest.mark.parametrize(
    ("body", "missing"),
    [
        ("SentenceTransformer('m').encode(first, precision='int8')", "encode(output_value='sentence_embedding', "),
        ("OpenAI().chat.completions.create(messages=[])", "OpenAI.chat"),
        ("SentenceTransformer('m').tokenize(first)", "SentenceTransformer.tokenize"),
        ("float(util.mine(first))", "mine()"),
    ],
)
def test_unsupported_calls_fail_with_a_sentence(body: str, missing: str, probe: Any) -> None:
    found = error(probe(EMOJI, {"Tabular.py": f"{TABULAR}    return {body}\n"}, cases=cases_of(EMOJI)[:1]))
    assert found.startswith("NotInThisTestError: this test's stand-in for ")
    assert f" has no `{missing}" in found


LOSS = """
import torch.nn.functional as F

def preference_loss(
    policy_chosen_logps, policy_rejected_logps, reference_chosen_logps, reference_rejected_logps, beta,
    label_smoothing=0.0, ipo=False, reference_free=False,
):
    chosen, rejected = policy_chosen_logps - reference_chosen_logps, policy_rejected_logps - reference_rejected_logps
    return -F.logsigmoid(beta * (chosen - rejected)){loss}, beta * chosen{reward}, beta * rejected.detach()
"""


@pytest.mark.smoke
def test_a_gradient_left_on_a_reward_is_a_wrong_output_that_names_it(probe: Any) -> None:
    files = {"trainers.py": LOSS.format(loss="", reward="")}
    for output in outputs(probe("01-DPO/1", files, cases=cases_of("01-DPO/1"))):
        assert output["chosen_rewards"] == "carries a gradient"
        assert isinstance(output["rejected_rewards"], np.ndarray)


@pytest.mark.parametrize(
    ("body", "what"),
    [("pass", "None"), ("return None, beta, beta", "(None, float, float)"), ("return 1", "a value of type int")],
)
def test_an_answer_without_losses_fails_with_a_sentence(body: str, what: str, probe: Any) -> None:
    goal = LOSS.partition("    chosen, rejected")[0] + f"    {body}\n"
    found = error(probe("01-DPO/1", {"trainers.py": goal}, cases=cases_of("01-DPO/1")[:2]))
    assert found == f"WrongReturnError: returned {what} where three tensors are expected"


def test_a_loss_without_gradient_trains_nothing(probe: Any) -> None:
    files = {"trainers.py": LOSS.format(loss=".detach()", reward=".detach()")}
    for output in outputs(probe("01-DPO/1", files, cases=cases_of("01-DPO/1"))):
        assert not output["gradient_policy_chosen_logps"].any()
        assert output["gradient_policy_chosen_logps"].shape == output["losses"].shape


LOOKUP = "def is_parametric_object_not_in_the_prompt(name, relations):\n    return "
OBJECTS, SUBJECTS = (f"relations.generation_{which}_1.str.lower().tolist()" for which in ("object", "subject"))
IS_PART = f"any(name in each for each in {OBJECTS} + {SUBJECTS})"


@pytest.mark.parametrize(
    ("body", "right"),
    [
        (f"name not in {OBJECTS} or name not in {SUBJECTS}", {"not_in_the_prompt", "columns_count_alike"}),
        (f"name not in {OBJECTS} + {SUBJECTS}", {"not_in_the_prompt", "columns_count_alike"}),
        (f"name not in {OBJECTS}", {"not_in_the_prompt"}),
        (f"name not in {SUBJECTS}", {"not_in_the_prompt"}),
        (f"not {IS_PART}", {"columns_count_alike"}),
        (f"not any(each in name for each in {OBJECTS} + {SUBJECTS})", {"columns_count_alike"}),
    ],
)
def test_names_of_one_column_and_parts_of_names(body: str, right: set[str], probe: Any) -> None:
    cases = cases_of("16-KnowProb/3")
    found = outputs(probe("16-KnowProb/3", {"src/parametric_knowledge.py": LOOKUP + body + "\n"}, cases=cases))
    both = [
        {name.lower() for name in case["generation_object_1"]} & {name.lower() for name in case["generation_subject_1"]}
        for case in cases
    ]
    expected = [
        {"not_in_the_prompt": [name not in names for name in case["asked"]], "columns_count_alike": True}
        for case, names in zip(cases, both, strict=True)
    ]
    assert {key for key in expected[0] if [each[key] for each in found] == [each[key] for each in expected]} == right


INTENSITIES = """
import csv
import numpy as np, pandas as pd
group_mappings = {"religion": ["a Christian", "a Muslim", "a Jew", "a Buddhist", "a Hindu"]}

def get_filtered_matrix(option, prompt, model, excluded):
    def mean(persona, other):
        path = f"processed_results/{option}_{prompt}_{model}_{persona}_{other}.tsv"
        kept = [value for place, value in enumerate(BODY) if place not in excluded]
        assert len(kept) == 6050 - len(excluded)
        return sum(map(int, kept)) / len(kept)
    groups = group_mappings[option]
    matrix = np.array([[mean(persona, other) for other in groups] for persona in groups])
    return (matrix - matrix.mean()) / matrix.std()
"""


@pytest.mark.parametrize(
    "intensities",
    [
        'pd.read_csv(path, sep="\\t")["intensity"]',
        'pd.read_csv(path, delimiter="\\t", usecols=["intensity"]).intensity',
        'pd.read_table(path, index_col="idx").intensity.to_numpy()',
        '[row["intensity"] for row in csv.DictReader(open(path, encoding="utf-8"), delimiter="\\t")]',
        'np.loadtxt(path, delimiter="\\t", skiprows=1, usecols=5)',
    ],
)
def test_intensities_are_read_from_files_by_any_means(intensities: str, probe: Any) -> None:
    cases = cases_of("15-EmpathyBias/2")[1:4]
    files = {"analysis/analysis_after_processing.py": INTENSITIES.replace("BODY", intensities)}
    for case, output in zip(cases, outputs(probe("15-EmpathyBias/2", files, cases=cases)), strict=True):
        means = np.delete(case["intensities"], case["excluded"], axis=1).mean(axis=1)
        assert np.allclose(output["matrix"].ravel(), (means - means.mean()) / means.std(), rtol=1e-9)


COUNTER_OBJECTS = """
import pandas as pd
NAMES = ["statement_subject", "rel_lemma", "statement_object", "counter_knowledge_object"]
NAMES += ["statement", "statement_query", "parametric_knowledge_object", "relation_group_id"]

def generate_counter_parametric_knowledge_dataset(known, wanted):
    assert known.index.is_unique
    rows = []
    for e in known.itertuples():
        assert list(e.log_probas[0]) == list(e.log_probability_parametric_object_first_token)
        assert len(e.log_probas) == len(e.model_output_tokens) == len(e.model_output_tokens_ids)
        assert 0 <= e.confidence_score <= 1 <= e.perplexity_sequence
        assert e.relation == e.rel_lemma and e.model_output.lower().startswith(e.parametric_object)
        rows += [{**dict.fromkeys(NAMES, e.rel_lemma), "statement_subject": e.statement_subject, "model": known}]
    return pd.DataFrame(rows[:wanted])[COLUMNS]
"""


@pytest.mark.parametrize(("columns", "complete"), [("NAMES", True), ("[*NAMES, 'model']", True), ("NAMES[:-1]", False)])
def test_counter_objects_have_the_columns_that_later_steps_read(columns: str, complete: bool, probe: Any) -> None:
    cases = cases_of("16-KnowProb/5")
    files = {"src/data.py": COUNTER_OBJECTS.replace("COLUMNS", columns)}
    for case, output in zip(cases, outputs(probe("16-KnowProb/5", files, cases=cases)), strict=True):
        made = case["rows"][: case["wanted"]]
        expected = sorted((row["statement_subject"], row["rel_lemma"] if complete else None) for row in made)
        assert [(row["statement_subject"], row["relation_group_id"]) for row in output["rows"]] == expected
        assert len(output["rows"][0]) == 8


ON_GPU = """
import importlib.util, sys, torch
spec = importlib.util.spec_from_file_location("probe_tools", sys.argv[1])
tools = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tools)
x, model = torch.ones(2), torch.nn.Linear(2, 2)
with tools.gpu_on_processor():
    for moved in (
        x.cuda(), x.cuda(0), x.cuda(device="cuda:1", non_blocking=True), x.to("cuda"), x.to("cuda:0", torch.float64),
        x.to(torch.device("cuda")), x.to(device="cuda"), x.to(device=torch.device("cuda", 1)), x.to(0), x.to(device=0),
        model.cuda().weight, model.to("cuda").weight, model.to(device="cuda:0").weight,
        torch.zeros(2, device="cuda"), torch.tensor([1.0], device=torch.device("cuda:0")), torch.ones(1, device=0),
        torch.empty_like(x, device="cuda"), x.to(x), x.to(torch.float64), x.to("cpu"),
    ):
        assert moved.device.type == "cpu", moved
    assert x.to("cuda", torch.float64).dtype == x.to(dtype=torch.float64, device="cuda").dtype == torch.float64
try:
    x.to("cuda")
except (AssertionError, RuntimeError):
    print("refused again")
"""


def test_a_gpu_in_any_spelling_is_the_processor(torch_packages: Path) -> None:
    tools = Path(box.__file__).parent / "probe_tools.py"
    environment = {"PYTHONPATH": str(torch_packages)}
    command = [sys.executable, "-c", ON_GPU, str(tools)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)
    assert (done.stdout, done.returncode) == ("refused again\n", 0), done.stderr
