"""The documents lead where they say, and the README to all of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
DOCUMENTS = [README, ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


def links(document: Path) -> set[Path]:
    """The files that a document links to."""
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", document.read_text())
    return {(document.parent / target).resolve() for target in targets if "://" not in target}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_to_files(document: Path) -> None:
    assert not [path for path in links(document) if not path.exists()]


def test_the_readme_is_an_index_of_the_documents() -> None:
    assert not [path for path in DOCUMENTS if path != README and path.resolve() not in links(README)]


def test_every_command_that_the_documents_name_is_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    named = {
        name for path in DOCUMENTS for name in re.findall(r"(?:`|^)make ([a-z-]+)", path.read_text(), re.MULTILINE)
    }
    assert {"demo", "test"} <= named
    assert named <= targets


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_no_document_names_a_folder_of_somebodys_machine(document: Path) -> None:
    assert not re.findall(r"(?<![\w.])/(?:home|root|Users|work)/\S*", document.read_text())
