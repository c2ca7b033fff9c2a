"""The page of `decluster diagnose`: well formed, self-contained, fit to be read."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from diagnose_files import EVEN, INCIDENT, SHARED, said

from decluster._cli import main

VOID = {"meta"}
HOSTILE = "<script>alert(1)<!script> \" ' & \N{RIGHT-TO-LEFT OVERRIDE}\x1b"


class Page(HTMLParser):
    """Checks that what is opened is closed, and keeps what there is."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.ids: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []
        assert len(self.ids) == len(set(self.ids))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        assert len(attributes) == len(attrs), f"{tag} {attrs}"
        self.seen.append((tag, attributes))
        if "id" in attributes:
            self.ids.append(str(attributes["id"]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for seen, attributes in self.seen if seen == tag]


def drawn(tmp_path: Path, *files: Path | str) -> str:
    assert main(["diagnose", "--html", str(tmp_path / "page.html"), *map(str, files)]) == 0
    return (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.fixture
def incident(tmp_path: Path) -> Path:
    file = tmp_path / "incident.jsonl"
    file.write_text(INCIDENT)
    return file


def test_the_page_is_well_formed_and_says_what_it_shows(incident: Path, tmp_path: Path) -> None:
    page = Page(drawn(tmp_path, incident))
    assert page.all("html")[0]["lang"] == "en"
    assert {"header", "main", "footer", "h1", "title"} <= {tag for tag, _ in page.seen}
    assert page.text.count("Clustered") >= 1
    charts = [svg for svg in page.all("svg") if svg.get("role") == "img"]
    assert len(charts) == 5  # two of all streams; the flow and two of the only one
    for svg in charts:
        title, desc = str(svg["aria-labelledby"]).split()
        assert {title, desc} <= set(page.ids)
    others = [svg for svg in page.all("svg") if svg.get("role") != "img"]
    assert all(svg.get("aria-hidden") or svg.get("viewbox") for svg in others)
    assert all(header["scope"] for header in page.all("th"))
    assert len([c for c in page.all("circle") if "mark before" in str(c.get("class"))]) == 2


def test_the_page_needs_nothing_but_itself(incident: Path, tmp_path: Path) -> None:
    text = drawn(tmp_path, incident)
    for word in ("http:", "https:", "src=", "href", "@import", "<script", "<link"):
        assert word not in text
    assert set(re.findall(r"url\((.)", text)) == {"#"}


def test_what_files_say_is_escaped(tmp_path: Path) -> None:
    try:
        file = tmp_path / HOSTILE
        file.write_text(INCIDENT)
    except OSError:
        pytest.skip("this file system takes no such name")
    text = drawn(tmp_path, file)
    page = Page(text)
    assert not page.all("script")
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in text
    assert "\x1b" not in text
    assert "<script>alert(1)<!script> \" ' & \N{REPLACEMENT CHARACTER}" in page.text


def test_a_name_that_is_no_text_is_shown(tmp_path: Path) -> None:
    file = tmp_path / "a\udcff"
    try:
        file.write_text(INCIDENT)
    except (OSError, UnicodeError):
        pytest.skip("this file system takes no such name")
    assert "a\\xff" in Page(drawn(tmp_path, file)).text


def test_only_the_worst_streams_are_drawn(tmp_path: Path) -> None:
    file = tmp_path / "traces.jsonl"
    mild = {"t_ms": [0, 500, 1000], "tokens": [30, 30, 30]}
    bad = {"t_ms": [0, 1500, 3000], "tokens": [80, 70, 90]}
    file.write_text("\n".join(json.dumps(trace) for trace in [*[mild] * 20, bad]))
    page = Page(drawn(tmp_path, file))
    assert len(page.all("article")) == 12
    assert "9 more streams are not drawn here" in page.text
    assert page.text.index("traces.jsonl:21") < page.text.index("traces.jsonl:1")


@pytest.mark.parametrize(
    "content",
    [
        EVEN,
        said("Hello."),
        '{"t_ms": [0], "tokens": [1]}',
        '{"t_ms": [0, 0.000001], "tokens": [1, 1]}',
        '{"t_ms": [0, 86000000], "tokens": [1, 1000000]}',
        '{"t_ms": 1, "data": ": nothing\\n\\n"}\n' + '{"t_ms": 2, "data": "data: [DONE]\\n\\n"}',
    ],
)
def test_any_stream_can_be_drawn(content: str, tmp_path: Path) -> None:
    file = tmp_path / "stream"
    file.write_text(content)
    code = main(["diagnose", "--html", str(tmp_path / "page.html"), str(file)])
    if code == 0:
        text = (tmp_path / "page.html").read_text()
        Page(text)
        assert "nan" not in text.lower().replace("nanos", "")
        assert "inf" not in re.sub(r"[a-z]+inf|inf[a-z]+", "", text.lower())


def test_a_long_stream_stays_a_small_page(tmp_path: Path) -> None:
    file = tmp_path / "traces.jsonl"
    trace = {"t_ms": [20 * place for place in range(50_000)], "tokens": [1] * 50_000}
    file.write_text(json.dumps(trace))
    assert len(drawn(tmp_path, file)) < 150_000


def test_a_page_that_cannot_be_written(
    incident: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diagnose", "--html", str(tmp_path / "no" / "page"), str(incident)]) == 1
    assert capsys.readouterr().err.endswith("page: No such file or directory\n")


LOOK = """() => {
  const lum = c => { const [r, g, b] = c.map(v => { v /= 255;
    return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
    return .2126 * r + .7152 * g + .0722 * b; };
  const rgb = s => (s.match(/[\\d.]+/g) || []).map(Number);
  const behind = e => { for (; e; e = e.parentElement) {
    const c = rgb(getComputedStyle(e).backgroundColor);
    if (c.length === 3 || c[3] > 0) return c.slice(0, 3); } return [255, 255, 255]; };
  const texts = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || ['TITLE', 'desc', 'title', 'STYLE'].includes(e.tagName))
      continue;
    const style = getComputedStyle(e), inside = e instanceof SVGElement;
    const [a, b] = [rgb(inside ? style.fill : style.color).slice(0, 3), behind(e)].map(lum);
    const box = e.getBoundingClientRect();
    texts.push({ text: walk.currentNode.data, size: parseFloat(style.fontSize),
      contrast: (Math.max(a, b) + .05) / (Math.min(a, b) + .05), left: box.left, right: box.right,
      scrolls: !!e.closest('.scroll') });
  }
  return { texts, page: document.documentElement.scrollWidth,
    window: document.documentElement.clientWidth,
    background: rgb(getComputedStyle(document.body).backgroundColor),
    drawings: [...document.querySelectorAll('svg')].map(svg => {
      const box = svg.getBoundingClientRect(); return [box.width, box.height]; }),
    bars: [...document.querySelectorAll('.bar[x]')].map(bar => getComputedStyle(bar).fill) };
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Its own, where `playwright install chromium` was run, or the system's.
        own = playwright.chromium.executable_path
        names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
        found = own if Path(own).exists() else next(filter(None, map(shutil.which, names)), None)
        assert found, "no Chromium: `apt-get install chromium` or `playwright install chromium`"
        # The sandbox does not start for root.
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [(360, 740), (1280, 900)], ids=["narrow", "wide"])
def test_a_browser_shows_the_page_well(
    browser: Any, size: tuple[int, int], scheme: str, incident: Path, tmp_path: Path
) -> None:
    long = tmp_path / f"{'a-long-name-without-a-blank' * 7}.jsonl"
    recorded = SHARED / "traces" / "whisperleak_AzureGPTo1Mini.jsonl"
    lines = recorded.read_text().splitlines()[:3] if recorded.exists() else []
    made = {"t_ms": [700 + 1300 * n for n in range(9)], "tokens": [20 * n + 1 for n in range(9)]}
    long.write_text("\n".join([*lines, json.dumps(made)]))
    drawn(tmp_path, incident, long)
    width, height = size
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, offline=True
    )
    tab = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on("request", lambda request: asked.append(request.url))
    url = (tmp_path / "page.html").as_uri()
    tab.goto(url)
    look = tab.evaluate(LOOK)
    tab.screenshot(path=tmp_path / f"{scheme}-{width}.png", full_page=True)
    context.close()
    assert (said, asked) == ([], [url])
    assert look["page"] <= look["window"] == width
    assert (sum(look["background"]) > 600) == (scheme == "light")
    assert len(look["drawings"]) > 20
    assert all(width > 0 and height > 0 for width, height in look["drawings"])
    assert look["bars"]
    assert len(look["texts"]) > 100
    for text in look["texts"]:
        assert text["contrast"] >= 4.5, text
        assert text["size"] >= 14, text
        assert text["scrolls"] or -0.5 <= text["left"] <= text["right"] <= width + 0.5, text
