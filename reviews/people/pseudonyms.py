"""Names under which reviewers appear: two neutral words and a number. They tell neither who nor who came first."""

from __future__ import annotations

import random
from typing import Final

from reviews.models import Reviewer

_QUALITIES: Final = (
    "Amber Azure Brisk Calm Cedar Clear Copper Coral Crisp Dusky Early Even Fern Flint Gentle Golden Granite Green "
    "Hazel Indigo Ivory Jade Keen Lilac Linen Lucid Marble Mellow Misty Mossy Northern Ochre Olive Opal Patient Pearl "
    "Plain Quiet Russet Sandy Silver Slate Southern Steady Still Tidal Umber Velvet Violet Willow"
)
_BIRDS: Final = (
    "Avocet Bittern Bunting Chough Coot Crake Crane Curlew Dipper Dove Dunlin Egret Eider Finch Gannet Godwit Grebe "
    "Heron Hoopoe Ibis Jackdaw Kestrel Kite Knot Lapwing Lark Linnet Martin Merlin Nightjar Nuthatch Oriole Osprey "
    "Petrel Pipit Plover Puffin Rail Robin Rook Shrike Siskin Snipe Swift Teal Tern Thrush Turnstone Wagtail Wren"
)
_TRIES: Final = 50


def unused_pseudonym() -> str:
    """A pseudonym that nobody has. Somebody else may take it before it is stored: the database refuses the second."""
    chance = random.SystemRandom()
    for _ in range(_TRIES):
        drawn = f"{chance.choice(_QUALITIES.split())} {chance.choice(_BIRDS.split())} {chance.randrange(10, 100)}"
        if not Reviewer.objects.filter(pseudonym=drawn).exists():
            return drawn
    return f"{chance.choice(_QUALITIES.split())} {chance.choice(_BIRDS.split())} {chance.randrange(10**6, 10**9)}"
