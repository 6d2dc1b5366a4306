"""Attention maps as images: source words at the top, target words at the left.

Takes `AttentionMap`s, writes PNG or SVG, one image per sentence, or all of them as JSON; the file
extension decides. Called by the commands that translate.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from elman.errors import InputError
from elman.evaluation.attention_map import AttentionMap
from elman.figures.files import PICTURES, check_file, empty_figure, save_figure, writing

MOST_PICTURES = 100
_SQUARE = 0.34  # inches per weight
_LARGEST = 40.0  # largest size of an image in inches
_LETTER = 0.085  # inches of a label


def check_map_file(path: str, sentences: int) -> Path:
    """Refuse, before the work, a file that cannot be written, or too many images."""
    place = check_file(path, "an attention map", (*PICTURES, ".json"))
    if place.suffix.lower() != ".json" and sentences > MOST_PICTURES:
        raise InputError(
            f"{path}: {sentences:,} sentences need as many images, more than {MOST_PICTURES}; "
            "give fewer sentences, or a name that ends in .json"
        )
    return place


def write_maps(maps: Sequence[AttentionMap], path: str) -> list[Path]:
    """Write the maps as one JSON file, or as images, numbered if several; return the files."""
    place = check_map_file(path, len(maps))
    if place.suffix.lower() == ".json":
        written = json.dumps([one.to_data() for one in maps], ensure_ascii=False)
        with writing(place) as temporary:
            temporary.write_text(written + "\n", encoding="utf-8")
        return [place]
    places = [place]
    if len(maps) != 1:
        width = len(str(len(maps)))
        numbers = [f"{number:0{width}}" for number in range(1, len(maps) + 1)]
        places = [place.with_name(f"{place.stem}-{number}{place.suffix}") for number in numbers]
    for one, its_place in zip(maps, places, strict=True):
        draw_map(one, its_place)
    return places


def draw_map(one: AttentionMap, path: Path) -> None:
    """Draw one map; darker means more weight."""
    label = _LETTER * max(map(len, [*one.source, *one.target, ""]))
    size = [min(_LARGEST, label + 1 + _SQUARE * len(side)) for side in (one.source, one.target)]
    figure = empty_figure(max(size[0], 2), max(size[1], 2))
    axes = figure.subplots()
    axes.imshow(
        one.weights if one.weights.size else [[0.0]], cmap="Greys", vmin=0, vmax=1, aspect="auto"
    )
    axes.xaxis.tick_top()
    axes.set_xticks(range(len(one.source)), one.source, rotation=60, ha="left")
    axes.set_yticks(range(len(one.target)), one.target)
    axes.tick_params(length=0)
    for text in (*axes.get_xticklabels(), *axes.get_yticklabels()):
        text.set_parse_math(False)  # dollar signs are text
    save_figure(figure, path)
