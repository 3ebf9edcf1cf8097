"""Calls `run_exp1` on a small vision transformer and reads what it has saved."""

import os
import pickle
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from probe_tools import absent, gpu_on_processor, without_gradient
from torch import nn

# Pretrained models and data sets are out of reach, and not needed. The figure is looked at before it is drawn.
absent("datasets", "matplotlib", "seaborn", "timm", "torchvision", "transformers")

import lib  # noqa: E402 - after the stand-ins
from lib import plot_utils_vit  # noqa: E402

REPOSITORY = sys.path[0]
FIGURES = []


def plot_3d_feat_vit(feat, layer_id, model_name, model_size, savedir):
    """Note what the figure is to show. The real one shows absolute values, too, and cannot show a gradient."""
    FIGURES.append([without_gradient(feat.abs()), int(layer_id), model_name, model_size, str(savedir)])


lib.plot_3d_feat_vit = plot_utils_vit.plot_3d_feat_vit = plot_3d_feat_vit

from main_vit import run_exp1  # noqa: E402 - after the figure


class Attention(nn.Module):
    """Self-attention with one head."""

    def __init__(self, channels):
        super().__init__()
        self.qkv = nn.Linear(channels, 3 * channels)

    def forward(self, x):
        """Return the mixed tokens."""
        query, key, value = self.qkv(x).chunk(3, dim=-1)
        return (query @ key.transpose(1, 2) / query.shape[-1]).softmax(dim=-1) @ value


class Block(nn.Module):
    """A layer with the parts that timm gives to one."""

    def __init__(self, channels):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(channels), nn.LayerNorm(channels)
        self.attn, self.mlp = Attention(channels), nn.Sequential(nn.Linear(channels, channels), nn.GELU())
        self.ls1, self.ls2, self.drop_path1, self.drop_path2 = (nn.Identity() for _ in range(4))

    def forward(self, x):
        """Return the next layer's input."""
        x = x + self.drop_path1(self.ls1(self.attn(self.norm1(x))))
        return x + self.drop_path2(self.ls2(self.mlp(self.norm2(x))))


class VisionTransformer(nn.Module):
    """Patches and extra tokens, then layers, then a norm."""

    def __init__(self, case):
        super().__init__()
        channels, self.patch = case["channels"], case["patch"]
        self.embed = nn.Linear(3 * self.patch**2, channels)
        self.extra = nn.Parameter(case["scale"] * torch.randn(1, 1 + case["registers"], channels))
        self.blocks = nn.ModuleList(Block(channels) for _ in range(case["depth"]))
        self.norm = nn.LayerNorm(channels)

    def forward(self, images):
        """Return the tokens of every picture."""
        patches = nn.functional.unfold(images, self.patch, stride=self.patch).transpose(1, 2)
        x = torch.cat([self.extra.expand(len(images), -1, -1), self.embed(patches)], dim=1)
        for block in self.blocks:
            x = block(x)
        return self.norm(x)


def _transform(case):
    """Return what makes a tensor (3, pixels, pixels) of a picture."""

    def transform(image):
        part = image.convert("RGB").resize((case["pixels"], case["pixels"]), box=case["box"])
        return torch.tensor(np.asarray(part) / 255.0).permute(2, 0, 1)

    return transform


def run(case):
    """Return the contents of both files, and what the figure was to show."""
    torch.manual_seed(case["draw"])
    model = VisionTransformer(case).double().eval()
    FIGURES.clear()
    os.chdir(REPOSITORY)
    chosen, names = case["layer_id"], (case["model_family"], case["model_size"])
    with tempfile.TemporaryDirectory() as folder:
        # The repository moves the picture to a GPU.
        with gpu_on_processor():
            run_exp1(chosen, list(model.blocks), model, _transform(case), folder, *names)
        inputs, features = (
            pickle.loads(Path(folder, f"{name}_layer_{chosen}.pkl").read_bytes())  # noqa: S301 - made just now
            for name in ("run_exp1_inputs", "feat_abs")
        )
        # Whether the folder in which the file lies is one of the parameters to be kept is not said.
        kept_folder = inputs.get("savedir", folder) == folder
        return {
            "features": np.asarray(features.detach() if isinstance(features, torch.Tensor) else features),
            "inputs": [inputs["layer_id"], inputs["model_family"], inputs["model_size"], kept_folder],
            "figures": [[*figure, savedir == folder] for *figure, savedir in FIGURES],
        }
