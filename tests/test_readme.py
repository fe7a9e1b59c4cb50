"""The README's example runs as it is printed, and what the documents point to is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PRINTED = r"test error ([\d.]+), (\d+)% of the suspects were flipped\n"


def test_example_runs_as_printed(capsys):
    [code] = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})
    error, found = map(float, re.search(PRINTED, capsys.readouterr().out).groups())
    assert error < 0.1
    assert found >= 60
    # Another BLAS rounds differently and gives other draws: allow for two of the 22 suspects.
    shown = re.search(f"```text\n{PRINTED}```", README.read_text())
    assert abs(error - float(shown[1])) < 0.01
    assert abs(found - float(shown[2])) < 10


def test_zoo_table_names_every_model():
    import bayeskernels as bk

    builders = [name for name in bk.models.__all__ if name != "mean_evolution"]
    assert set(re.findall(r"\| `bk\.models\.(\w+)`", README.read_text())) == set(builders)


DOCUMENTS = sorted(
    str(path.relative_to(ROOT)) for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name):
    links = re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", (ROOT / name).read_text())
    for file, anchor in links:
        if file.startswith("http"):
            continue
        target = (ROOT / name).parent / file if file else ROOT / name
        assert target.exists(), file
        assert not anchor or anchor in _anchors(target.read_text()), anchor


def _anchors(text):
    """Anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return [re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings]


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if name != "CHANGELOG.md"])
def test_files_named_in_the_text_exist(name):
    files = re.findall(r"`((?:[\w.]+/)+\w+\.\w+)`", (ROOT / name).read_text())
    assert [file for file in files if not (ROOT / file).exists()] == []


def test_paths_into_the_code_are_as_design_says():
    text = (ROOT / "docs" / "design.md").read_text()
    hops = re.findall(r"^\| (\d) \| `([^`]+)` \| `([^`]+)` \|$", text, flags=re.MULTILINE)
    assert [int(hop) for hop, *_ in hops].count(1) == 2
    assert max(int(hop) for hop, *_ in hops) <= 4
    for _, file, line in hops:
        assert line in (ROOT / file).read_text()
    for first in [file for hop, file, _ in hops if hop == "1"]:
        assert f"]({first})" in README.read_text()
