"""Parts of a report -> one self-contained HTML page with style, tables and inlined figures; all text is escaped."""

import re
from collections.abc import Sequence
from html import escape

from nearsong.experiment.report.style import PAGE_COLOURS

_TAG = re.compile(r"<[^>]*>")
_NAMES = re.compile(r'(\bid="|href="#|url\(#)')
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")
_STYLE = """
:root { color-scheme: light dark; --page: #f6f7f8; --card: #ffffff; --ink: #22262b; --faint: #626a73; --line: #d9dde2;
  --blue: #0072b2; --red: #c65500; --ramp1: #79b4dc; --ramp2: #2f7fbd; --ramp3: #0b4f94; --ramp4: #06264f; }
@media (prefers-color-scheme: dark) { :root { --page: #14171a; --card: #1c2024; --ink: #e7e9ec; --faint: #a0a8b1;
  --line: #3a4149; --blue: #4ba9e6; --red: #f08a3c; --ramp1: #2e6c9c; --ramp2: #4f9fd6; --ramp3: #96cbee;
  --ramp4: #e2f2fc; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); line-height: 1.55;
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 47rem; margin: 0 auto; padding: 2.5rem 1rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.3rem; line-height: 1.3; margin: 3rem 0 .6rem; }
h3 { font-size: 1.02rem; margin: 1.8rem 0 .4rem; }
p { margin: .6rem 0; }
a { color: var(--blue); }
.faint, figcaption, .note { color: var(--faint); }
figcaption, .note { font-size: .9rem; }
.lead { font-size: 1.1rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .7rem; margin: 1.4rem 0; }
.tile, .box { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; }
.tile { padding: .8rem .9rem; }
.tile b { display: block; font-size: 1.75rem; line-height: 1.15; font-variant-numeric: tabular-nums; }
.tile.main b { color: var(--blue); }
.tile span { display: block; font-size: .88rem; line-height: 1.35; }
figure { margin: 1rem 0 1.6rem; }
.box { overflow-x: auto; padding: .7rem; }
.box svg { display: block; width: 100%; min-width: 35rem; height: auto; }
.box svg text { font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif
  !important; }
figcaption { margin-top: .45rem; }
.box.table { padding: 0; margin: .8rem 0 .5rem; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .42rem .7rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
tr:last-child td { border-bottom: 0; }
th { font-weight: 600; color: var(--faint); vertical-align: bottom; }
.n { text-align: right; }
td.n { white-space: nowrap; }
td:first-child { min-width: 4rem; }
tr.main td { font-weight: 600; }
td.song { min-width: 12rem; }
td.item { padding-left: 1.9rem; }
.dot { color: var(--blue); }
.item .dot { display: inline-block; width: 1.2rem; margin-left: -1.2rem; }
.detail { font-size: .8rem; color: var(--faint); display: block; }
nav { margin: 1.2rem 0 0; font-size: .92rem; }
nav a { margin-right: .9rem; white-space: nowrap; }
details { margin: .6rem 0; }
summary { cursor: pointer; color: var(--blue); }
pre { overflow-x: auto; padding: .8rem; font-size: .82rem; margin: .6rem 0; }
@media print { body { background: #fff; } h2 { break-after: avoid; } figure, .box { break-inside: avoid; } }
"""


class Html(str):
    """Text that is HTML; all other text is escaped when it is put on a page."""

    __slots__ = ()


def safe(text: object) -> Html:
    """Return text as HTML, escaped unless it already is ``Html``.

    Examples
    --------
    >>> safe("<script>"), safe(Html("<b>bold</b>"))
    ('&lt;script&gt;', '<b>bold</b>')
    """
    return text if isinstance(text, Html) else Html(escape(str(text)))


def paragraph(text: object, kind: str = "") -> Html:
    """Return a paragraph.

    Examples
    --------
    >>> paragraph("1 < 2")
    '<p>1 &lt; 2</p>'
    """
    return Html(f"<p{_class(kind)}>{safe(text)}</p>")


def _class(kind: str) -> str:
    return f' class="{escape(kind)}"' if kind else ""


def heading(text: str, anchor: str) -> Html:
    """Return the heading of a section with an anchor."""
    return Html(f'<h2 id="{escape(anchor)}">{safe(text)}</h2>')


def bullets(texts: Sequence[object]) -> Html:
    """Return a list."""
    return Html("<ul>" + "".join(f"<li>{safe(text)}</li>" for text in texts) + "</ul>")


def details(summary: str, content: Html) -> Html:
    """Return a collapsed block."""
    return Html(f"<details><summary>{safe(summary)}</summary>{content}</details>")


def preformatted(text: str) -> Html:
    """Return preformatted text that scrolls horizontally in its box."""
    return Html(f'<pre class="box">{safe(text)}</pre>')


def table(
    header: Sequence[str],
    rows: Sequence[Sequence[object]],
    numbers: Sequence[int] = (),
    main: Sequence[int] = (),
) -> Html:
    """Return a table that scrolls horizontally in its box.

    Parameters
    ----------
    header : sequence of str
    rows : sequence of sequences
        Cells; text is escaped, ``Html`` is not.
    numbers : sequence of int
        Right-aligned columns.
    main : sequence of int
        Rows in bold.

    Examples
    --------
    >>> table(["method", "AUC"], [["native", "0.680"]], numbers=[1])
    '<div class="box table" ...<td>native</td><td class="n">0.680</td></tr>...'
    """
    head = "".join(
        f'<th scope="col"{_class("n" * (i in numbers))}>{safe(cell)}</th>' for i, cell in enumerate(header)
    )
    body = []
    for number, row in enumerate(rows):
        cells = "".join(
            cell
            if isinstance(cell, Html) and cell.startswith("<td")
            else f"<td{_class('n' * (i in numbers))}>{safe(cell)}</td>"
            for i, cell in enumerate(row)
        )
        body.append(f"<tr{_class('main' * (number in main))}>{cells}</tr>")
    return Html(
        f'<div class="box table" tabindex="0"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def figure(svg: str, name: str, caption: str) -> Html:
    """Return an inlined SVG with ids that are unique on the page and with the colours of the page.

    Parameters
    ----------
    svg : str
        The text of an SVG file.
    name : str
        Unique on the page.
    caption : str
        Also the label for screen readers.

    Examples
    --------
    >>> figure('<?xml?><svg viewBox="0 0 1 1"><g id="a" style="fill: #22262b"/></svg>', "map", "A map")
    '<figure>...<svg role="img" aria-label="A map" viewBox="0 0 1 1"><g id="map-a" style="fill: var(--ink)"...'
    """

    def adapt(match: re.Match[str]) -> str:
        tag = match.group()
        if "base64," in tag:
            return _NAMES.sub(rf"\1{name}-", tag.split("base64,")[0]) + "base64," + tag.split("base64,")[1]
        tag = _COLOUR.sub(lambda colour: _page_colour(colour.group()), tag)
        return _NAMES.sub(rf"\1{name}-", tag)

    inner = _TAG.sub(adapt, svg[svg.index("<svg") :])
    box = re.search(r'viewBox="[^"]*"', svg)
    opening = f'<svg role="img" aria-label="{escape(caption)}" {box.group() if box else ""}>'
    inner = re.sub(r"<svg[^>]*>", lambda _: opening, inner, count=1)
    shown = f'<div class="box" tabindex="0">{inner.strip()}</div>'
    return Html(f"<figure>{shown}<figcaption>{safe(caption)}</figcaption></figure>")


def _page_colour(colour: str) -> str:
    return f"var(--{PAGE_COLOURS[colour]})" if colour in PAGE_COLOURS else colour


def page(title: str, parts: Sequence[Html]) -> str:
    """Return the complete page."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{safe(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(parts)
        + "\n</main>\n</body>\n</html>\n"
    )
