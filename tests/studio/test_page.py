"""The studio page in a real browser: no errors, and no requests to other addresses."""

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import Watched, opened_browser
from live import running
from tagged import train_tagger, write_tagged

from elman.studio.served import Served, load_served

VIEWS = ("write", "generate", "inside", "try", "runs", "ladder")
Open = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with opened_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def page_served(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Served:
    place = tmp_path_factory.mktemp("tagger")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("elman.tasks.training_run.draw_curves", lambda records, path: None)
        train_tagger(write_tagged(place / "data"), place / "tagger")
    folders = [*(runs / name for name in ("words", "network", "letters")), place / "tagger"]
    return load_served([str(folder) for folder in folders])


@pytest.fixture(scope="module")
def address(page_served: Served, runs: Path) -> Iterator[str]:
    with running(page_served, runs=runs) as address:
        yield address


@pytest.fixture
def opening(browser: Any, address: str) -> Iterator[Open]:
    """Opens the page at a view; fails on console errors and requests to other addresses."""
    watched: list[Watched] = []

    def open_view(view: str = "", **options: Any) -> Any:
        watched.append(Watched(browser, address, **options))
        return watched[-1].open(view)

    yield open_view
    for one in watched:
        one.context.close()
        assert one.complaints == []
        assert one.elsewhere == []


def card(page: Any, model: str) -> Any:
    return page.locator(f'.card[data-model="{model}"]')


def write(page: Any, text: str) -> None:
    page.get_by_label("Your text").fill(text)


def test_suggestions_and_surprisal_appear_while_typing(opening: Open) -> None:
    page = opening()
    write(page, "")
    page.get_by_label("Your text").press_sequentially("the dog sees a ", delay=20)
    for model in ("words", "network", "letters"):
        suggestions = card(page, model).locator(".suggestion")
        suggestions.nth(2).wait_for()
        assert re.search(r"\d+ %", suggestions.first.inner_text())
        # The words of the text before may still be there: wait for the answer to this one.
        total = card(page, model).locator(".sum", has_text="bits per word over 4 words")
        total.wait_for()
        words = card(page, model).locator(".word")
        assert [word.strip() for word in words.all_inner_texts()] == ["the", "dog", "sees", "a"]
    coloured = card(page, "words").locator(".word").nth(1)
    assert "color-mix" in coloured.get_attribute("style")
    page.locator(".together svg").wait_for()  # all of them in one picture


def test_a_word_shows_what_was_expected_in_its_place(opening: Open) -> None:
    page = opening()
    write(page, "the cat likes a ")
    card(page, "words").locator(".word", has_text="likes").click()
    expected = card(page, "words").locator(".expected")
    expected.locator("li").first.wait_for()
    assert "Instead of likes" in expected.inner_text()
    assert expected.locator("li").first.inner_text().startswith("likes")  # it follows from cat


def offered(page: Any, token: str) -> Any:
    """A suggestion for the text as it is now."""
    return page.locator(f'.suggestions:not(.stale) .suggestion[data-token="{token}"]').first


def test_after_a_complete_word_the_probability_is_that_of_the_next_word(opening: Open) -> None:
    page = opening()
    shown = {}
    for text in ("the cat likes ", "the cat likes"):  # no word begins with likes and is longer
        write(page, text)
        following = card(page, "words").locator(".suggestions:not(.stale) .suggestion").first
        following.locator(f"span:text-matches('^{'likes ' * (text[-1] != ' ')}')").wait_for()
        shown[text] = following.locator("small").inner_text()
    assert shown["the cat likes"] == shown["the cat likes "]


def test_tab_and_numbers_take_suggestions_and_escape_frees_tab(opening: Open) -> None:
    page = opening()
    area = page.get_by_label("Your text")
    write(page, "the cat ")
    offered(page, "likes").wait_for()
    area.press("Tab")
    assert area.input_value() == "the cat likes "
    write(page, "the do")  # an unfinished word is completed
    offered(page, "dog").wait_for()
    area.press("Tab")
    assert area.input_value() == "the dog "
    offered(page, "sees").wait_for()
    second = page.locator(".card").first.locator(".suggestion").nth(1).get_attribute("data-token")
    area.press("Alt+2")
    assert area.input_value() == f"the dog {second} "
    area.press("Escape")
    page.locator(".suggestion").first.wait_for(state="detached")
    area.press("Tab")
    assert not area.evaluate("area => area === document.activeElement")


def test_a_hasty_tab_waits_for_suggestions_of_the_text_as_it_is(opening: Open) -> None:
    page = opening()
    write(page, "the cat ")
    offered(page, "likes").wait_for()
    write(page, "the do")
    page.get_by_label("Your text").press("Tab")
    offered(page, "sees").wait_for()  # of the text with the suggestion
    assert page.get_by_label("Your text").input_value() == "the dog "


def test_models_are_switched(opening: Open) -> None:
    page = opening()
    card(page, "network").wait_for()
    page.get_by_role("checkbox", name="network").uncheck()
    card(page, "network").wait_for(state="detached")
    page.get_by_role("checkbox", name="letters").uncheck()
    page.get_by_role("checkbox", name="words").click()  # one of them is always asked
    assert page.get_by_role("checkbox", name="words").is_checked()
    page.reload()  # and it is remembered
    card(page, "words").locator(".suggestion").first.wait_for()
    assert page.locator(".card").count() == 1


def test_generate_with_a_seed_writes_the_same_again(opening: Open) -> None:
    page = opening("generate")
    page.get_by_label("Prompt").fill("the cat")
    page.get_by_label("Seed").fill("7")
    page.get_by_label("Samples").fill("2")
    page.get_by_label("Max tokens").fill("12")
    texts = []
    for _ in range(2):
        page.get_by_role("button", name="Generate").click()
        page.get_by_text("Done.").wait_for()
        texts.append(page.locator(".written").all_inner_texts())
        page.get_by_label("Prompt").press("End")
    assert len(texts[0]) == 6  # two of each model
    assert all(texts[0])
    assert texts[0] == texts[1]
    assert "seed 7" in card(page, "words").inner_text()


def test_generation_stops(
    opening: Open, page_served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = page_served.find("words").trained.model
    predict = model.predict

    def slowly(state: Any) -> Any:
        time.sleep(0.02)
        return predict(state)

    monkeypatch.setattr(model, "predict", slowly)
    page = opening("generate")
    page.get_by_role("checkbox", name="network").uncheck()
    page.get_by_role("checkbox", name="letters").uncheck()
    page.get_by_label("Max tokens").fill("1000")
    page.get_by_role("button", name="Generate").click()
    written = page.locator(".written")
    page.get_by_text(re.compile(r"^\d\d tokens")).wait_for()  # well under way
    page.get_by_role("button", name="Stop").click()
    page.get_by_text("Stopped.").wait_for()
    before = written.inner_text()
    time.sleep(0.3)
    assert written.inner_text() == before
    assert 3 < len(before.split()) < 900  # some ends of lines stand between the words
    assert "stopped" in card(page, "words").inner_text()


def test_the_distribution_follows_the_controls(opening: Open) -> None:
    page = opening("generate")
    page.get_by_label("Prompt").fill("the")
    sides = card(page, "words").locator(".sides")
    sides.wait_for()
    page.get_by_label("Top k").fill("2")
    sides.get_by_text(re.compile("after .* 2 possible tokens")).wait_for()
    card(page, "words").locator(".distribution svg rect").first.wait_for()


def test_a_new_transform_of_the_server_gets_a_control(browser: Any, address: str) -> None:
    """Nothing in the page names it: the server lists it, and the page sends it."""
    new = {"id": "typical", "option": "typical_p", "type": "number", "off": None, "least": 0.1,
           "most": 1, "about": "draw among typical tokens", "excludes": None}  # fmt: skip
    watched = Watched(browser, address)
    page, sent = watched.page, []

    def add(route: Any) -> None:
        data = route.fetch().json()
        route.fulfill(json={**data, "data": [*data["data"], new]})

    page.route("**/v1/transforms", add)
    page.on("request", lambda request: sent.append((request.url, request.post_data or "")))
    watched.open("generate")
    page.get_by_text("More controls").click()
    control = page.get_by_label("Typical p")
    assert [control.get_attribute(name) for name in ("min", "max")] == ["0.1", "1"]
    page.get_by_text("draw among typical tokens").wait_for()
    control.fill("0.5")
    with page.expect_request("**/v1/completions"):
        page.get_by_role("button", name="Generate").click()
    assert any('"typical_p":0.5' in body for url, body in sent if url.endswith("/v1/completions"))
    watched.context.close()


def test_a_refusal_is_told(opening: Open, browser: Any, address: str) -> None:
    watched = Watched(browser, address)
    page = watched.open("generate")
    page.get_by_text("More controls").click()
    page.get_by_label("Temperature").fill("0.5")
    page.get_by_label("Softmax alpha").fill("2")
    card(page, "words").get_by_role("alert").first.wait_for()
    assert "leave out one" in card(page, "words").get_by_role("alert").first.inner_text()
    watched.context.close()


def test_gradient_flow(opening: Open) -> None:
    page = opening("inside")
    page.get_by_label("Text to read").fill("the cat likes a dog .")
    page.get_by_role("button", name="Look", exact=True).click()
    seen = card(page, "network").locator(".seen")
    seen.get_by_text("by distance").first.wait_for()
    assert seen.locator("svg").count() >= 2
    assert seen.locator("svg").first.get_attribute("aria-label").startswith("Gradient of each loss")
    assert page.get_by_role("button", name="Gradient flow").get_attribute("aria-pressed") == "true"
    names = page.get_by_role("group", name="What to look at").all_inner_texts()[0]
    assert "Units" in names
    assert "Attention" not in names  # this network has none


def test_a_tagger_can_be_tried(opening: Open) -> None:
    page = opening("try")
    tagger = card(page, "tagger")
    tagger.locator('textarea[name="text"]').fill("Ann sees Bob .")
    tagger.get_by_role("button", name="Tag").click()
    tagger.locator(".tagged span").nth(3).wait_for()
    assert tagger.locator(".tagged b").all_inner_texts() == ["Ann", "sees", "Bob", "."]


def test_questions_without_a_view_have_a_form(opening: Open) -> None:
    page = opening("try")
    page.locator("form").nth(3).wait_for()
    assert page.locator("form").count() == 4  # explain twice, embed, tag
    words = card(page, "words")
    words.locator("textarea").fill("the cat")
    words.get_by_role("button", name="Explain").click()
    words.locator(".explained").nth(1).wait_for()
    assert words.locator(".explained").count() == 2  # tokens
    words.locator(".explained summary").nth(1).click()
    words.get_by_role("columnheader", name="Backoff").first.wait_for()
    assert words.get_by_role("cell", name="⏎ the", exact=True).count() == 1  # the words before it
    network = card(page, "network")
    network.locator("textarea").fill("the cat likes the dog")
    network.get_by_text("More controls").click()
    network.get_by_label("Nearest").fill("cat")
    network.get_by_label("Top").fill("2")
    network.get_by_role("button", name="Embed").click()
    network.get_by_role("columnheader", name="Cosine").first.wait_for()
    assert network.locator("tbody tr").count() == 4 + 5  # two tables of two, and the query's facts


def test_runs_and_ladder(opening: Open) -> None:
    page = opening("runs")
    page.locator(".pictures svg").first.wait_for()
    assert "network" in page.locator(".runs").inner_text()
    page.keyboard.press("6")
    page.get_by_role("cell", name="ngram").first.wait_for()
    page.get_by_label("Text to measure").fill("the cat likes a dog .")
    page.get_by_role("button", name="Measure").click()
    page.locator(".measured tbody tr").nth(2).wait_for()
    assert "words" in page.locator(".measured").inner_text()


def test_a_curve_grows_while_a_training_goes_on(opening: Open, runs: Path) -> None:
    history = runs / "network" / "history.jsonl"
    kept = history.read_text()
    lines = kept.splitlines(keepends=True)
    history.write_text("".join(lines[:2]))
    try:
        page = opening("runs")
        details = page.locator(".pictures details").first

        def rows() -> int:
            """The numbers below the curve; new numbers redraw it with a closed table."""
            if not details.evaluate("element => element.open"):
                details.locator("summary").click()
            return details.locator("tr").count()

        before = rows()
        history.write_text(kept)
        for _ in range(60):
            if rows() > before:
                break
            page.wait_for_timeout(500)
        assert rows() > before
    finally:
        history.write_text(kept)


def test_a_finished_word_is_followed_by_next_words(opening: Open) -> None:
    page = opening()
    write(page, "the cat likes")
    suggestions = card(page, "words").locator(".suggestion")
    suggestions.filter(has_text="likes ").first.wait_for()  # "likes a", not only other endings
    assert suggestions.count() == 5


def test_an_unknown_word_looks_unknown(opening: Open) -> None:
    page = opening()
    write(page, "the zebra likes a cat ")
    unknown = card(page, "words").locator(".word.unknown")
    unknown.first.wait_for()
    assert unknown.all_inner_texts() == ["zebra "]
    assert "1 unknown to the model" in card(page, "words").locator(".sum").inner_text()


def test_forms_begin_with_examples_of_the_run(opening: Open, runs: Path) -> None:
    samples = json.loads((runs / "words" / "facts.json").read_text())["samples"]
    page = opening("try")
    words = card(page, "words")
    words.locator("textarea").first.wait_for()
    assert words.locator("textarea").first.input_value() == samples[0]["text"]
    words.get_by_role("button", name="Example 2").click()
    assert words.locator("textarea").first.input_value() == samples[1]["text"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_fits_a_phone(opening: Open, scheme: str) -> None:
    page = opening("", viewport={"width": 380, "height": 800}, color_scheme=scheme)
    page.locator("#tabs a").first.wait_for()
    for view in VIEWS:
        page.locator(f'#tabs a[data-view="{view}"]').click()
        page.get_by_role("link", name=re.compile(view, re.IGNORECASE), exact=False).wait_for()
        page.wait_for_timeout(300)
        assert page.evaluate("document.documentElement.scrollWidth") <= 380, view


def test_keys_lead_everywhere(opening: Open) -> None:
    page = opening()
    page.locator("#tabs a").first.wait_for()
    page.keyboard.press("2")
    page.get_by_label("Prompt").wait_for()
    page.keyboard.press("/")
    assert page.get_by_label("Prompt").evaluate("area => area === document.activeElement")
    page.keyboard.press("1")  # is text there
    assert page.get_by_label("Prompt").input_value().endswith("1")
    page.get_by_role("button", name="Keyboard shortcuts").click()
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="hidden")


def test_a_token_in_the_address_is_taken_and_hidden(browser: Any, page_served: Served) -> None:
    with running(page_served, token="secret") as address:
        watched = Watched(browser, address)
        page = watched.open("token=secret")
        page.locator(".suggestion").first.wait_for()
        assert "secret" not in page.url
        watched.context.close()
        assert watched.complaints == []


def test_text_is_never_markup(opening: Open) -> None:
    page = opening()
    write(page, "<img src=x onerror=alert(1)> the ")
    card(page, "words").locator(".word").first.wait_for()
    page.locator(".word", has_text="<img").first.wait_for()
    assert page.locator("#view img").count() == 0
