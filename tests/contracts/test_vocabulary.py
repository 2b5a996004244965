"""One word for one thing: public names and modules keep to docs/glossary.md."""

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from contracts.source_tree import MODULES, SOURCE, dotted_name, nodes_of, tree_of

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"
TERM = re.compile(r"^\| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)

# a word that once had a meaning of its own here -> what to write instead
BANNED = {
    "place": "embedding, index, address, folder, split, slot, rank or field",
    "places": "embeddings, indices, folders, splits or slots",
    "ear": "encoder",
    "ears": "encoders",
    "hear": "analyse",
    "hearing": "analysis",
    "heard": "analysed, or track name",
    "unheard": "not analysed",
    "said": "query or text",
    "told": "reported",
    "kept": "stored or cached",
    "away": "distance or unreachable",
    "taught": "training set",
    "audience": "listening data",
    "asking": "batch",
    "heavy": "concurrency limit",
    "door": "authentication",
    "room": "limit or folder",
    "whole": "complete",
    "once": "cached or deduplicated",
    "fullest": "strongest examples",
    "beside": "native space",
    "shelves": "albums",
}
VAGUE_CONSTANTS = re.compile(
    r"_?(?:(?:LARGEST|LONGEST|FEWEST|MOST|LEAST|FEW|KEPT|PLENTY|WELL|MANY)(?:_.*)?|AT_ONCE|.*_AT_ONCE|TOGETHER|APART|AHEAD)"
)
NOT_OURS = {
    "_play_heavy": "a style of music in the demo",
    "heavy": "a style of music in the demo",
    "Heard": "a song that a radio played, and the reaction to it",
    "heard": "what a radio played",
}
MAX_FILES_WITH_PLACE = 30
IN_PLACE = re.compile(r"\bin[- ]place\b|\bplaceholders?\b|\bplace-items\b", re.IGNORECASE)


def glossary() -> dict[str, str]:
    """Return term -> definition."""
    found = TERM.findall(GLOSSARY.read_text())
    return {term.strip(): meaning.strip() for term, meaning in found if term.strip() not in {"term", "---"}}


@cache
def names_in(path: Path) -> set[str]:
    """Return the names that a module defines: classes, functions, parameters, variables and attributes."""
    found = set(path.relative_to(SOURCE).with_suffix("").parts)
    for node in nodes_of(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.id if isinstance(node, ast.Name) else node.attr)
    return found


def words_of(name: str) -> set[str]:
    """Return the words that an identifier is made of."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def test_every_term_is_defined_in_one_line():
    terms = glossary()
    assert len(terms) > 50
    assert [term for term, meaning in terms.items() if len(meaning) < 15 or not meaning.endswith(".")] == []


def test_every_term_is_used():
    texts = [path.read_text().lower() for path in [*MODULES, *sorted((ROOT / "docs" / "guides").glob("*.md"))]]
    source = "\n".join(texts)
    unused = [
        term
        for term in glossary()
        if not re.search(rf"\b{re.escape(term.lower()).replace(chr(92) + ' ', '[ _]')}s?\b", source)
    ]
    assert unused == []


@pytest.mark.parametrize("path", MODULES, ids=dotted_name)
def test_names_use_the_words_of_the_glossary(path):
    wrong = {
        name: BANNED[word]
        for name in names_in(path)
        if name not in NOT_OURS
        for word in words_of(name)
        if word in BANNED
    }
    assert wrong == {}


def test_the_rule_for_names_can_fail():
    assert words_of("PlaceIndex") & BANNED.keys() == {"place"}
    assert words_of("put_places") & BANNED.keys() == {"places"}
    assert not words_of("replace_linear") & BANNED.keys()


@pytest.mark.parametrize("path", MODULES, ids=dotted_name)
def test_constants_are_a_noun_and_a_unit(path):
    names = {name for name in names_in(path) if name.isupper()}
    assert sorted(name for name in names if VAGUE_CONSTANTS.fullmatch(name)) == []


def test_no_two_classes_have_the_same_name():
    homes = defaultdict(list)
    for path in MODULES:
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(dotted_name(path))
    assert {name: modules for name, modules in homes.items() if len(modules) > 1} == {}


def test_place_means_one_thing():
    texts = [path for path in SOURCE.rglob("*") if path.suffix in {".py", ".js", ".html", ".css"}]
    with_it = [path for path in texts if re.search(r"\bplaces?\b", path.read_text())]
    assert len(with_it) < MAX_FILES_WITH_PLACE
    others = [
        str(p.relative_to(SOURCE)) for p in with_it if re.search(r"\bplaces?\b", IN_PLACE.sub("", p.read_text()))
    ]
    assert others == []


# phrases of an earlier voice -> what users read now
OLD_PHRASES = {
    "Hear the songs": "Scan a folder of music",
    "Nearest as learned from listeners": "Similar, learned from listeners",
    "Nearest by sound alone": "Similar sound",
    "How good is it": "Quality",
    "Beside simpler ways": "Compared with simpler methods",
    "Answers now": "Active",
    "answers from now on": "is active",
    "What it has kept": "Previous models",
    "is no folder here": "Folder not found",
    "as they were": "unchanged",
    "broke off or skipped": "damaged; the readable part was used",
    "first evening": "Getting started",
    "never heard": "not in the library",
    "heard again": "analysed again",
    "not been heard": "not analysed",
    "artist-once": "one-per-artist",
    "songs it learned from": "known songs",
    "artists never seen": "unseen artists",
    "artists it never saw": "unseen artists",
    "say which one": "be more specific",
    "no song is called": "no match for",
    "full of it": "examples",
    "let one come again": "use a smaller artist gap",
    "bring it back": "restore it",
    "bring them back": "restore them",
    "put it back": "restore it",
    "cut or broken": "truncated or invalid",
    "breaks off": "is truncated",
    "there is no song": "song not found",
    "there is no library": "library not found",
    "is no path": "is not a valid path",
}


@cache
def user_facing_texts() -> dict[str, str]:
    """Return name -> text of the documents, the page, and the strings of all modules without their docstrings.

    All in lower case, with one space between words.
    """
    documents = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "guides").glob("*.md")]
    page = [path for path in (SOURCE / "web" / "static").rglob("*") if path.suffix in {".js", ".html"}]
    texts = {str(path.relative_to(ROOT)): path.read_text() for path in [*documents, *page]}
    for path in MODULES:
        docstrings = {id(node.value) for node in nodes_of(path) if isinstance(node, ast.Expr)}
        strings = [node for node in nodes_of(path) if isinstance(node, ast.Constant)]
        texts[str(path.relative_to(ROOT))] = "\n".join(
            node.value for node in strings if isinstance(node.value, str) and id(node) not in docstrings
        )
    return {name: " ".join(text.lower().split()) for name, text in texts.items()}


@pytest.mark.parametrize("phrase", OLD_PHRASES)
def test_users_read_plain_english(phrase):
    found = [name for name, text in user_facing_texts().items() if phrase.lower() in text]
    assert found == [], f"write: {OLD_PHRASES[phrase]}"
