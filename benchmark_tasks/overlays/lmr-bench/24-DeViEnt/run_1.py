"""Calls `BERTModelModule.compute_loss_and_scores` on a model with small stand-ins for BERT and ResNet."""

import builtins
import inspect
import sys
from pathlib import Path
from types import SimpleNamespace

import torch
from probe_tools import absent, gradients
from torch import nn

HIDDEN = 6
VOCABULARY = 20


class TextEncoder(nn.Module):
    """BERT's interface: pools the embeddings of what the attention mask leaves."""

    def __init__(self):
        super().__init__()
        self.config = SimpleNamespace(hidden_size=HIDDEN)
        self.embedding = nn.Embedding(VOCABULARY, HIDDEN)

    def forward(self, input_ids, attention_mask):
        kept = attention_mask.unsqueeze(-1)
        pooled = (self.embedding(input_ids) * kept).sum(dim=1) / kept.sum(dim=1)
        return SimpleNamespace(pooler_output=torch.tanh(pooled))


def _image_encoder(**_):
    """ResNet's interface: 2048 features, small ones so that texts matter, too; and a last layer that is cut off."""
    projection = nn.Linear(12, 2048)
    nn.init.normal_(projection.weight, std=0.01)
    return nn.Sequential(nn.Flatten(), projection, nn.Identity())


class BertModel:
    """What the model asks of `transformers`."""

    @staticmethod
    def from_pretrained(*_args, **_options):
        """Return the small text encoder, whatever its name."""
        return TextEncoder()


absent("torchvision", "wandb")
absent("torchvision.models", resnet50=_image_encoder)
absent("transformers", BertModel=BertModel)
# The masked signature takes the weight's default from a name that nothing defines: whoever keeps it needs the name.
builtins.classification_weight = None
sys.path.insert(0, str(Path(sys.path[0]) / "Evaluator"))

from visual_text_training import BERTModelModule  # noqa: E402


def _model(case, weight):
    torch.manual_seed(case["model_seed"])
    model = BERTModelModule("bert", case["use_classification_head"], weight).double()
    heads = {"regressor": model.regressor}
    if case["use_classification_head"]:
        heads["classifier"] = model.classifier
    for head in heads.values():
        nn.init.normal_(head.weight, std=0.5)
    return model, heads


def _tensors(tokens):
    if tokens == "none":
        return None
    if tokens == "empty":
        return {name: torch.tensor([], dtype=torch.long) for name in ("input_ids", "attention_mask")}
    return {name: torch.from_numpy(values) for name, values in tokens.items()}


def _array(tensor):
    return None if tensor is None else tensor.detach().numpy()


def _gradients(loss, model, heads):
    """Gradients of the loss: of the embeddings, and of each head's weights of the text and bias."""
    embedding = model.bert_model.embedding.weight
    layers = {
        **{f"{name}_weight": head.weight for name, head in heads.items()},
        **{f"{name}_bias": head.bias for name, head in heads.items()},
        "embedding": embedding,
    }
    return {name: gradient[..., :HIDDEN] for name, gradient in gradients(loss, layers).items()}


def run(case):
    """Return loss, logits, scores and the loss's gradients; no loss where there is nothing to compute it from."""
    takes_weight = "weight" in inspect.signature(BERTModelModule.compute_loss_and_scores).parameters
    options = {"weight": case["weight"]} if takes_weight else {}
    model, heads = _model(case, case["other_weight"] if takes_weight else case["weight"])
    batch = (
        torch.from_numpy(case["images"]),
        _tensors(case["premises"]),
        _tensors(case["updates"]),
        torch.from_numpy(case["update_types"]),
    )
    loss, premise_logits, update_logits, premise_scores, update_scores = model.compute_loss_and_scores(batch, **options)
    outputs = {
        "premise_logits": _array(premise_logits),
        "update_logits": _array(update_logits),
        "premise_scores": _array(premise_scores),
        "update_scores": _array(update_scores),
    }
    if case["has_loss"]:
        outputs |= {"loss": loss.item(), "gradients": _gradients(loss, model, heads)}
    return outputs
