"""Every drawing of every insight as a picture, and a self-contained page."""

import io
import json
import re
from collections.abc import Callable

import pytest

from elman.figures.drawings import draw
from elman.figures.page import Page
from elman.insight import INSIGHTS
from elman.insight.insight import Drawing, Subject

IDS = [3, 1, 4, 1, 5, 9]
# What each insight needs to be seen in a small model, beside the usual settings.
NEEDED = {"attention": {"output": "pointer", "tied": False}}


def drawings(name: str, subject: Callable[..., Subject]) -> list[Drawing]:
    given = subject(IDS, **NEEDED.get(name, {}))
    record = {"epoch": 1.0, "gradient_norm": 1.0, "largest_gradient_norm": 2.0, "clipped": 0.5}
    given.history.append(record)
    return INSIGHTS[name].look(given).drawings()


@pytest.mark.parametrize("name", INSIGHTS)
def test_every_insight_is_drawn(name: str, subject: Callable[..., Subject]) -> None:
    found = drawings(name, subject)
    assert found
    for drawing in found:
        json.dumps(drawing.to_data(), allow_nan=False)
        file = io.BytesIO()
        draw(drawing).savefig(file, format="svg")
        assert b"<svg" in file.getvalue()


def test_what_matplotlib_takes_for_formulas_is_text() -> None:
    words = [{"text": "costs $5 and $6 _x^ \\frac\n", "value": 1.0}, {"text": "", "value": None}]
    drawing = Drawing("colouredText", {"title": "$a$ {b}", "words": words})
    draw(drawing).savefig(io.BytesIO(), format="png")


def test_a_heat_map_of_nothing_can_be_drawn() -> None:
    for scale in ("linear", "log", "diverging"):
        given = {"title": "", "rows": ["a"], "columns": ["b"], "values": [[None]], "scale": scale}
        draw(Drawing("heatMap", given)).savefig(io.BytesIO(), format="png")


def test_the_page_holds_its_data_safely() -> None:
    page = Page("</title><script>alert(1)</script>")
    page.drawing("bars", {"title": "</script><script>alert(2)</script>", "names": ["<b>"]})
    html = page.html()
    assert "<script>alert" not in html
    (data,) = re.findall(r'id="drawings">(.*?)</script>', html, flags=re.DOTALL)
    assert json.loads(data)[0]["arguments"]["names"] == ["<b>"]


def test_the_page_asks_for_nothing_from_outside() -> None:
    page = Page("drawn")
    page.drawing("bars", {"title": "t", "names": [], "series": []})
    html = page.html().replace("http://www.w3.org/2000/svg", "")  # a name, not an address
    assert "default-src 'none'" in html
    assert not re.search(r"(src|href)=\"(?!data:)|url\(|https?:|\bimport\b|fetch\(", html)


def test_a_page_without_drawings_has_no_script() -> None:
    page = Page("plain")
    page.paragraph("nothing to draw")
    assert "<script" not in page.html()
