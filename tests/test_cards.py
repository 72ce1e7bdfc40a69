"""Semantics cards: every algorithm has one, it is complete, and the page is what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock import algorithms
from penstock.interfaces.cards import ENTRIES, GROUPS, OPTIONAL, card, page, sections, semantics

PAGE = Path(__file__).parents[1] / "docs" / "algorithms.md"
NAMES = algorithms.names()


@pytest.mark.parametrize("name", NAMES)
def test_a_card_says_everything(name):
    said = semantics(algorithms.find(name))
    assert set(ENTRIES) - set(OPTIONAL) <= set(said) <= set(ENTRIES), name
    for word, text in said.items():
        assert text.strip().endswith("."), f"{name}: {word}: {text}"
    shown = card(name)
    for word in (*said, "memory"):
        assert f"| {word} | " in shown


@pytest.mark.parametrize("name", NAMES)
def test_its_parameters_are_explained(name):
    found = algorithms.find(name)
    text = card(name)
    for parameter in found.parameters:
        assert f"- `{parameter}`: " in text


def test_every_algorithm_is_in_one_group():
    grouped = [name for group in GROUPS.values() for name in group]
    assert sorted(grouped) == NAMES


def test_the_page_is_what_the_docstrings_say():
    assert PAGE.read_text() == page(), "python -m penstock.interfaces.cards > docs/algorithms.md"


def test_sections():
    text = "One.\n\nParameters\n----------\na\n    Is a.\n\nNotes\n-----\nEnd."
    assert sections(text) == {
        "": ["One.", ""], "Parameters": ["a", "    Is a.", ""], "Notes": ["End."],
    }  # fmt: skip
