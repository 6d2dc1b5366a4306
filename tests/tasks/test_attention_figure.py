"""Pictures of attention: they show any words, and files are written atomically."""

import json
from pathlib import Path

import numpy as np
import pytest

from elman.errors import InputError
from elman.evaluation.attention_map import AttentionMap
from elman.figures.attention_maps import check_map_file, write_maps

ONE = AttentionMap(
    ("a", "$5$", "梯子", "<b>"), ("x", "_y"), np.array([[0.1, 0.2, 0.3, 0.4], [0.0, 0.0, 1.0, 0.0]])
)


def test_a_picture_with_the_words_in_it(tmp_path: Path) -> None:
    (written,) = write_maps([ONE], str(tmp_path / "map.svg"))
    picture = written.read_text(encoding="utf-8")
    for word in ("$5$", "梯子", "&lt;b&gt;", "_y"):
        assert f">{word}<" in picture
    write_maps([ONE], str(tmp_path / "again.svg"))
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["again.svg", "map.svg"]


def test_the_same_map_is_the_same_file(tmp_path: Path) -> None:
    first = write_maps([ONE], str(tmp_path / "map.svg"))[0].read_bytes()
    assert write_maps([ONE], str(tmp_path / "map.svg"))[0].read_bytes() == first


def test_several_are_numbered(tmp_path: Path) -> None:
    written = write_maps([ONE] * 10, str(tmp_path / "map.PNG"))
    assert [path.name for path in written][::9] == ["map-01.PNG", "map-10.PNG"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in written)


def test_all_in_one_json(tmp_path: Path) -> None:
    (written,) = write_maps([ONE, ONE], str(tmp_path / "map.json"))
    data = json.loads(written.read_text(encoding="utf-8"))
    assert data[1] == ONE.to_data()
    assert data[0]["alignment"] == "2-1 3-0"


def test_nothing_to_draw_is_drawn(tmp_path: Path) -> None:
    empty = AttentionMap(("a",), (), np.zeros((0, 1)))
    assert write_maps([empty], str(tmp_path / "map.png"))[0].exists()
    assert write_maps([], str(tmp_path / "none.png")) == []


def test_what_cannot_be_written_is_refused_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="end in .png or .svg or .json"):
        check_map_file(str(tmp_path / "map.pdf"), 1)
    with pytest.raises(InputError, match="folder .* does not exist"):
        check_map_file(str(tmp_path / "none" / "map.png"), 1)
    with pytest.raises(InputError, match="1,000 sentences need as many images"):
        check_map_file(str(tmp_path / "map.png"), 1000)
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        check_map_file(str(tmp_path / "folder.png"), 1)
    check_map_file(str(tmp_path / "map.json"), 1000)
