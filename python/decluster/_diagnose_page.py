"""The report of `decluster diagnose` as one page of HTML, which needs nothing but itself."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from html import escape
from math import ceil, log10
from pathlib import Path
from typing import Any

from ._diagnose import Report, count_of, seconds_of, share_of
from ._diagnose_style import STYLE


def write_page(report: Report, name: str) -> None:
    """Writes the page into a file."""
    Path(name).write_text(page(report), encoding="utf-8")


def page(report: Report) -> str:
    """The page."""
    sentences = report.sentences()
    headline, after_it = "No arrival times", sentences
    if report.total["timed"]:
        headline, _, rest = sentences[0].partition(": ")
        after_it = [rest[:1].upper() + rest[1:], *sentences[1:]]
    parts = [
        f"<header><p class=over>decluster diagnose</p><h1>{_text(headline)}</h1>",
        *(f"<p class=verdict>{_sentence(sentence)}</p>" for sentence in after_it),
        f"<p class=files>{_files(report.files)}</p></header><main>",
    ]
    if report.total["timed"]:
        parts += [_tiles(report), _table(report), _both_histograms(report, None, "All streams")]
    parts += [*_streams(report), _facts(report), "</main>"]
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{_text(headline)}: {_text(_short(report.files))}</title>",
            f"<style>{STYLE}</style></head><body>",
            *parts,
            f"<footer><p>{_footer(report)}</p></footer></body></html>\n",
        ]
    )


def _tiles(report: Report) -> str:
    before, after = report.total["before"], report.total["after"]

    def longest(side: dict[str, Any]) -> str:
        return "none" if side["gaps"] is None else seconds_of(side["gaps"]["max"])

    def median(side: dict[str, Any]) -> str:
        return "none" if side["sizes"] is None else count_of(side["sizes"]["p50"])

    tiles = (
        ("Clusters", count_of(before["events"]), count_of(after["events"])),
        ("Longest silence", longest(before), longest(after)),
        ("Tokens of the median group", median(before), median(after)),
    )
    return (
        "<dl class=tiles>"
        + "".join(
            f"<div><dt>{name}</dt><dd><span class=before>{one}<small>as it came</small></span>"
            f"<span class=after>{other}<small>paced</small></span></dd></div>"
            for name, one, other in tiles
        )
        + "</dl>"
    )


def _table(report: Report) -> str:
    rows: list[str] = []
    last = ""
    for name, one, other in report.rows():
        what, _, part = name.partition(": ")
        if part and what != last:
            rows.append(f"</tbody><tbody><tr><th scope=rowgroup colspan=3>{what}</th></tr>")
        last = what
        label = f"<th scope=row class=part>{part}</th>" if part else f"<th scope=row>{what}</th>"
        rows.append(f"<tr>{label}<td class=before>{one}</td><td class=after>{other}</td></tr>")
    return (
        "<section aria-labelledby=figures><h2 id=figures>Before and after the pacer</h2>"
        "<div class=scroll role=region tabindex=0 aria-labelledby=figures><table><thead><tr>"
        "<td></td><th scope=col class=before>as it came</th>"
        "<th scope=col class=after>paced</th></tr></thead><tbody>"
        + "".join(rows)
        + "</tbody></table></div></section>"
    )


def _facts(report: Report) -> str:
    facts = "".join(f"<dt>{_text(name)}</dt><dd>{_text(is_)}</dd>" for name, is_ in report.facts())
    return (
        "<section aria-labelledby=facts><h2 id=facts>What was read</h2>"
        f"<dl class=facts>{facts}</dl></section>"
    )


def _streams(report: Report) -> Iterable[str]:
    timed = [
        (place, stream)
        for place, stream in enumerate(report.streams)
        if stream["times"] is not None and stream["tokens"]
    ]
    timed.sort(key=lambda one: _badness(one[1]))
    if not timed:
        return
    left = len(timed) - MAX_DRAWN
    worst = f"The {MAX_DRAWN} worst streams" if left > 0 else "Stream by stream"
    yield f"<section aria-labelledby=streams><h2 id=streams>{worst}</h2>"
    if left > 0:
        more = f"{count_of(left)} more {'stream is' if left == 1 else 'streams are'}"
        yield f"<p>{more} not drawn here; all figures above count them, too.</p>"
    for number, (place, stream) in enumerate(timed[:MAX_DRAWN], 1):
        yield _stream(report, number, place, stream)
    yield "</section>"


def _badness(stream: dict[str, Any]) -> tuple[float, float]:
    before = stream["before"]
    return -before["events"], -(before["gaps"]["max"] if before["gaps"] else 0)


def _stream(report: Report, number: int, place: int, stream: dict[str, Any]) -> str:
    before, after = stream["before"], stream["after"]
    said = [f"{count_of(stream['tokens'])} tokens in {seconds_of(stream['watched'])}"]
    said.append(f"{_clusters(before['events'])}, {count_of(after['events'])} paced")
    if before["first"] is not None:
        said.append(f"first token after {seconds_of(before['first']['p50'])}")
    if stream["dialect"] is not None:
        said.append(stream["dialect"])
    title = f"Stream {number}"
    return (
        f"<article aria-labelledby=s{number}><h3 id=s{number}>{_text(stream['name'])}</h3>"
        f"<p class=sub>{_sentence(' · '.join(said))}</p>"
        f"{_lines(report, number, place, stream)}"
        f"{_histograms(report, place, title)}</article>"
    )


def _lines(report: Report, number: int, place: int, stream: dict[str, Any]) -> str:
    """Arrivals against releases: tokens so far, as two lines of steps."""
    came = report.diagnosis.flow(place, after=False)
    left = report.diagnosis.flow(place, after=True)
    begin = came[0][0]
    end = max(flow[-1][0] for flow in (came, left) if flow) - begin or 1
    tokens = stream["tokens"]
    x_step, y_step = _nice(end / 1e9 / 5), max(1, _nice(tokens / 4))
    top = tokens * 1.04
    parts = [_grid_y(value, value / top, count_of(value)) for value in _steps(y_step, tokens)]
    for value in _steps(x_step, end / 1e9):
        parts.append(_label_x(value / (end / 1e9), f"{value:g}" + ("" if value else " s")))
    inside = "".join(
        f'<path class="line {name}" d="{_path(flow, begin, end, top)}"/>'
        for name, flow in (("before", came), ("after", left))
    )
    parts.append(
        '<svg width="100%" height="100%" viewBox="0 0 1000 1000" preserveAspectRatio="none">'
        f"{inside}</svg>"
    )
    for after in (False, True):
        parts += _marks(report.diagnosis.groups(place, after=after), begin, end, top, after)
    clusters = [stream[side]["events"] for side in ("before", "after")]
    desc = (
        f"{count_of(tokens)} tokens over {seconds_of(end / 1e9)}. As they came: "
        f"{_clusters(clusters[0])}. Paced: {_clusters(clusters[1])}."
    )
    mark = f"<span>{_sample('mark')} cluster</span>" if any(clusters) else ""
    return (
        f"<figure><figcaption><b>Tokens so far</b> by seconds from the first{_keys('line', mark)}"
        f"</figcaption>{_svg(f'c{number}', 'Arrivals against releases', desc, parts, 240)}</figure>"
    )


def _path(flow: Sequence[tuple[int, int]], begin: int, end: int, top: float) -> str:
    """Steps; of those that fall on the same place of the screen the last."""
    steps: dict[int, float] = {}
    so_far = 0
    for ns, tokens in flow:
        so_far += tokens
        steps[round((ns - begin) / end * 2000)] = 1000 - so_far / top * 1000
    return "M0 1000" + "".join(f"H{x / 2:g}V{y:.1f}" for x, y in steps.items()) + "H1000"


def _marks(
    groups: Sequence[tuple[int, int, int, bool]], begin: int, end: int, top: float, after: bool
) -> Iterable[str]:
    so_far, drawn = 0, -1
    for start, _, tokens, is_cluster in groups:
        so_far += tokens
        part = (start - begin) / end
        at = round(part * 200)
        if is_cluster and at != drawn:
            drawn = at
            y = 100 - (so_far - tokens / 2) / top * 100
            side = "after" if after else "before"
            yield f'<circle class="mark {side}" cx="{part:.2%}" cy="{y:.2f}%" r="5.5"/>'


def _both_histograms(report: Report, place: int | None, title: str) -> str:
    return (
        f"<section aria-labelledby=all><h2 id=all>{title}</h2>"
        f"{_histograms(report, place, title)}</section>"
    )


def _histograms(report: Report, place: int | None, title: str) -> str:
    diagnosis, rule = report.diagnosis, report.rule
    key = "all" if place is None else str(place)
    sizes = [
        [group[2] for group in diagnosis.groups(place, after=after)] for after in (False, True)
    ]
    gaps = [[gap / 1e9 for gap in diagnosis.gaps(place, after=after)] for after in (False, True)]
    least, silence = rule["min_tokens"], rule["min_gap"]
    return (
        "<div class=pair>"
        + _histogram(
            f"g{key}",
            "Tokens by the size of their group",
            "tokens",
            f"{title}: share of tokens that came in groups of so many tokens",
            sizes,
            least,
            # So many tokens are the least whole number in the bin.
            lambda edge: count_of(ceil(edge)),
            f"≥ {count_of(least)}",
        )
        + _histogram(
            f"h{key}",
            "Time by the length of the silence",
            "seconds",
            f"{title}: share of the time between groups in silences of so many seconds",
            gaps,
            silence,
            lambda edge: f"{edge:.1g}" if edge < 0.1 else f"{edge:.3g}",
            f"≥ {seconds_of(silence)}",
        )
        + "</div>"
    )


def _histogram(
    key: str,
    title: str,
    unit: str,
    desc: str,
    values: Sequence[Sequence[float]],
    threshold: float,
    label: Callable[[float], str],
    says: str,
) -> str:
    """Shares of the sum of the values, in bins that double; one begins at the threshold."""
    if not any(values):
        return (
            f"<figure><figcaption><b>{title}</b></figcaption><p class=none>There is none.</p>"
            "</figure>"
        )
    edges = [threshold * 2.0**power for power in range(-6, 6)]
    shares = [_shares(one, edges) for one in values]
    used = [place for place in range(len(edges) + 1) if any(share[place] for share in shares)]
    first, last = min(used[0], 6), max(used[-1], 7)
    most = max(max(share) for share in shares)
    step = next(step for step in (0.05, 0.1, 0.25) if most <= step * 4 or step == 0.25)
    top = max(step, -(-most // step) * step)
    parts = [_grid_y(value, value / top, f"{value * 100:.0f} %") for value in _steps(step, top)]
    bins = last - first + 1
    parts.insert(
        0,
        f'<defs><pattern id="{key}p" width="6" height="6" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><rect class="hatch0" width="6" height="6"/>'
        '<rect class="hatch1" width="3" height="6"/></pattern></defs>',
    )
    for place in range(first, last + 1):
        left = (place - first) / bins
        for side, share in enumerate(shares):
            x, height = left + (0.1 + side * 0.4) / bins, share[place] / top
            fill = f'fill="url(#{key}p)" class="bar before"' if side == 0 else 'class="bar after"'
            if height:
                parts.append(
                    f'<rect {fill} x="{x:.2%}" y="{1 - height:.2%}" width="{0.38 / bins:.2%}" '
                    f'height="{height:.2%}"/>'
                )
        if place > first and (bins <= MAX_LABELS or (place - 7) % 2 == 0):
            parts.append(_label_x(left, label(edges[place - 1])))
    at = f"{(7 - first) / bins:.2%}"
    anchor = "end" if 7 - first > bins * 0.7 else "start"
    nudge = -6 if anchor == "end" else 6
    parts.append(f'<line class="limit" x1="{at}" x2="{at}" y1="-14" y2="100%"/>')
    parts.append(f'<text x="{at}" dx="{nudge}" y="-4" text-anchor="{anchor}">{says}</text>')
    beyond = [share_of(sum(share[7:])) for share in shares]
    desc += f". At {says}: {beyond[0]} as they came, {beyond[1]} paced."
    return (
        f"<figure><figcaption><b>{title}</b> in {unit}{_keys('bar')}</figcaption>"
        f"{_svg(key, title, desc, parts, 180)}</figure>"
    )


def _shares(values: Sequence[float], edges: Sequence[float]) -> list[float]:
    """What part of the sum of all is in each bin: below the first edge, from each edge on."""
    sums = [0.0] * (len(edges) + 1)
    for value in values:
        sums[bisect_right(edges, value)] += value
    all_of_them = sum(sums) or 1.0
    return [part / all_of_them for part in sums]


def _svg(key: str, title: str, desc: str, parts: Iterable[str], height: int) -> str:
    return (
        f'<div class="plot"><svg class="chart" role="img" aria-labelledby="{key}t {key}d" '
        f'width="100%" height="{height}"><title id="{key}t">{_text(title)}</title>'
        f'<desc id="{key}d">{_text(desc)}</desc>{"".join(parts)}</svg></div>'
    )


def _grid_y(value: float, part: float, label: str) -> str:
    y = f"{1 - part:.2%}"
    kind = "grid" if value else "axis"
    return (
        f'<line class="{kind}" x1="0" x2="100%" y1="{y}" y2="{y}"/>'
        f'<text x="-8" y="{y}" dy="5" text-anchor="end">{label}</text>'
    )


def _label_x(part: float, label: str) -> str:
    anchor = "end" if part > 0.95 else "middle"
    return f'<text x="{part:.2%}" y="100%" dy="20" text-anchor="{anchor}">{label}</text>'


def _keys(kind: str, more: str = "") -> str:
    keys = (f"{_sample(f'{kind} before')} as it came", f"{_sample(f'{kind} after')} paced")
    return f"<div class=keys>{''.join(f'<span>{key}</span>' for key in keys)}{more}</div>"


def _sample(kind: str) -> str:
    shape = '<path d="M1 7H27"/>'
    if kind == "mark":
        shape = '<circle cx="14" cy="7" r="5.5"/>'
    elif kind.startswith("bar"):
        shape = '<rect x="4" y="1" width="20" height="12"/>'
        if kind.endswith("before"):
            shape += '<path class="hatch" d="M4 13L16 1M10 13L22 1M4 7L10 1M16 13L24 5"/>'
    return f'<svg class="sample {kind}" width="28" height="14" aria-hidden="true">{shape}</svg>'


def _steps(step: float, end: float) -> Iterable[float]:
    return (place * step for place in range(int(end / step + 1e-9) + 1))


def _nice(value: float) -> float:
    """The nearest of 1, 2, 5, 10, …, as a factor."""
    size = 10.0 ** (ceil(log10(value)) - 1)
    return min((size * factor for factor in (1, 2, 5, 10)), key=lambda n: abs(log10(n / value)))


def _clusters(count: int) -> str:
    return f"{count_of(count)} cluster{'' if count == 1 else 's'}"


def _files(names: Sequence[str]) -> str:
    shown = ", ".join(f"<span>{_text(name)}</span>" for name in names[:MAX_NAMED])
    more = len(names) - MAX_NAMED
    return shown + (f" and {count_of(more)} more files" if more > 0 else "")


def _short(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{count_of(len(names))} files"


def _footer(report: Report) -> str:
    rule = report.rule
    return _sentence(
        f"A cluster is a group of {count_of(rule['min_tokens'])} tokens or more beside a silence "
        f"of {seconds_of(rule['min_gap'])} or more. Arrivals within "
        f"{seconds_of(rule['group_gap'])} of a group's first belong to it. Paced is what decluster "
        "would have let out, on a virtual clock with the times of the recording."
    )


def _text(text: str) -> str:
    """Text for HTML. What shows nothing, or turns text around, is shown as such."""
    return escape("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text))


def _sentence(text: str) -> str:
    """The same for our own words: no line ends between a number and its unit."""
    return re.sub(r"(?<=\d) (?=(?:s|ms|%|tokens?)\b|%)", "&nbsp;", _text(text))


MAX_DRAWN = 12
"""So many streams are drawn."""
MAX_LABELS = 7
"""So many labels fit below a histogram on a phone."""
MAX_NAMED = 20
"""So many files are named at the top."""
