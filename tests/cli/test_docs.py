"""What the documents say is so: commands, code, options, formats, links."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import networkx as nx
import pytest
import typer
from document_blocks import SHOWN, blocks, run_page

import penstock
from penstock.algorithms import find
from penstock.algorithms import names as algorithm_names
from penstock.engine.options import OPTION_NAMES
from penstock.ingest.formats import importers
from penstock.interfaces.cli._algorithm_options import own_options
from penstock.interfaces.cli.bench import SUITES
from penstock.interfaces.cli.main import COMMANDS, app

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
DOCUMENTS = [README, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
TEST_COMMAND = "pip install '.[test]' && pytest"
#: Blocks of each page that are not run; each says why.
NOT_RUN = {
    "CONTRIBUTING.md": 3,
    "README.md": 4,
    "docs/benchmarks.md": 5,
    "docs/devices.md": 1,
    "docs/graph500.md": 1,
    "docs/installing.md": 1,
    "docs/machines-kubernetes.md": 3,
    "docs/machines-slurm.md": 2,
    "docs/machines-ssh.md": 2,
    "docs/quickstart.md": 1,
    "docs/reliability.md": 1,
    "docs/several-machines.md": 6,
}
_NAMES = [str(path.relative_to(ROOT)) for path in DOCUMENTS]


def options_of(command: str, suite: str | None = None) -> set[str]:
    found = typer.main.get_command(app).get_command(None, command)
    if command == "bench":
        if suite is None:
            return set().union(*(options_of(command, each) for each in SUITES))
        found = found.get_command(None, suite)
    params = list(found.params)
    if command in ("run", "plan"):
        params += [option for name in algorithm_names() for option in own_options(find(name))]
    names = {name for option in params for name in (*option.opts, *option.secondary_opts)}
    return {name for name in names if name.startswith("--")}


def test_readme_shows_two_commands_first():
    first, second = (block.text.strip() for block in blocks(README, "sh")[:2])
    assert first == "pip install . && penstock demo"
    assert second == TEST_COMMAND
    text = README.read_text()
    assert text.index("docs/flow.svg") < text.index(first)


def test_ci_runs_the_test_command_of_the_readme():
    assert f'test_command="{TEST_COMMAND}"' in (ROOT / ".ci" / "run").read_text()


@pytest.fixture
def networkx_settings():
    """Pages may change them, as their readers do."""
    algorithms, ignored = list(nx.config.backend_priority.algos), nx.config.warnings_to_ignore
    nx.config.warnings_to_ignore = set(ignored)
    yield
    nx.config.backend_priority.algos = algorithms
    nx.config.warnings_to_ignore = ignored


@pytest.mark.usefixtures("networkx_settings")
@pytest.mark.parametrize("path", DOCUMENTS, ids=_NAMES)
def test_code_runs(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    run_page(path, tmp_path)


@pytest.mark.parametrize("path", DOCUMENTS, ids=_NAMES)
def test_what_is_not_run_is_counted(path):
    """A block that cannot be run here says why, and one more has to be let in here."""
    excused = [block.line for block in blocks(path) if block.excuse is not None]
    assert len(excused) == NOT_RUN.get(str(path.relative_to(ROOT)), 0), excused


@pytest.mark.parametrize("path", DOCUMENTS, ids=_NAMES)
def test_languages_of_blocks_are_known(path):
    known = {"python", "sh", "json", *SHOWN}
    assert [(each.line, each.language) for each in blocks(path) if each.language not in known] == []


def test_readme_shows_what_the_demo_prints(cli):
    """Copy the output of `penstock demo` into README.md if this fails for a good reason."""
    shown = blocks(README, "text")[0].text.splitlines()
    printed = cli("demo").out.splitlines()

    def without_times(lines: list[str]) -> list[str]:
        return [re.sub(r"in \d+\.\d s", "in # s", line) for line in lines]

    assert without_times(shown) == without_times(printed)


@pytest.mark.parametrize("path", DOCUMENTS, ids=_NAMES)
def test_commands_and_options_exist(path):
    text = path.read_text()
    for line in re.findall(r"^(?:\S*`)?(penstock [a-z].*?)(?:`.*)?$", text, re.MULTILINE):
        words = shlex.split(line, comments=True)
        if "..." in line or words[1] not in COMMANDS:
            continue
        used = {word.split("=")[0] for word in words if word.startswith("--")}
        assert used <= options_of(*words[1 : 3 if words[1] == "bench" else 2]), line


def test_options_that_documents_name_exist():
    known = set().union(*map(options_of, COMMANDS)) | {"--help", "--version"}
    scripts = ("tests/torture/__main__.py", "benchmarks/guard.py", "benchmarks/hosts_peers.py")
    for script in scripts:
        known |= set(re.findall(r'"(--[a-z-]+)"', (ROOT / script).read_text()))
    for path in DOCUMENTS:
        for option in re.findall(r"`(--[a-z-]+)", path.read_text()):
            assert option in known, f"{path.name}: {option}"


def test_every_option_of_build_is_explained():
    explained = (ROOT / "docs/inputs.md").read_text() + (ROOT / "docs/building.md").read_text()
    for option in options_of("build") - {"--json", "--debug", "--help"}:
        assert option in explained, option


def test_every_format_is_in_the_table():
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|", (ROOT / "docs/inputs.md").read_text(), re.M)
    shown = {name: set(re.findall(r"`(\.\w+)`", suffixes)) for name, suffixes in rows}
    there = {name: set(found.SUFFIXES) for name, found in importers().items() if found.SUFFIXES}
    assert shown == there


@pytest.mark.parametrize("path", DOCUMENTS, ids=_NAMES)
def test_links_lead_somewhere(path):
    for link in re.findall(r"\]\(([^)#]+)\)", path.read_text()):
        assert link.startswith("http") or (path.parent / link).exists(), link


def test_python_names_that_documents_use_exist():
    for path in DOCUMENTS:
        for name in re.findall(r"\bps\.([a-z_]\w*)\(", path.read_text()):
            assert hasattr(penstock, name), f"{path.name}: ps.{name}"


def test_every_public_name_is_on_the_page_of_functions():
    shown = set(re.findall(r"auto\w+:: penstock\.(\w+)", (ROOT / "docs/api.md").read_text()))
    assert shown | set(algorithm_names()) == {*penstock.__all__, "errors"} - {"PenstockError"}


def test_every_option_of_a_run_is_on_the_page_of_functions():
    rows = re.findall(r"^\| (`.*?) \|", (ROOT / "docs/api.md").read_text(), re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", " ".join(rows))) == {*OPTION_NAMES, "hosts", "out"}


def test_algorithms_over_hosts_are_those_of_the_guide():
    page = (ROOT / "docs/several-machines.md").read_text()
    said = page.partition("These run over several:")[2].partition(", and")[0]
    there = [name for name in algorithm_names() if find(name).on_hosts]
    assert re.findall(r"`(\w+)`", said) == there


def test_every_package_is_on_the_page_of_the_house():
    page = (ROOT / "docs/layout.md").read_text()
    for each in (ROOT / "src/penstock").iterdir():
        if not each.name.startswith("_") and each.name not in ("py.typed", "version.py"):
            assert re.search(rf"\b{each.stem}\b", page), each.name
    for named in re.findall(r"`([\w/]+\.py)`", page):
        assert (ROOT / "src/penstock" / named).is_file(), named


def test_picture_is_well_formed():
    from xml.etree import ElementTree

    assert ElementTree.parse(ROOT / "docs/flow.svg").getroot().tag.endswith("svg")
