"""The README's example runs as it is printed."""

import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_example_runs_as_printed(capsys):
    [code] = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    error, found = re.search(r"test error ([\d.]+), (\d+)% of the suspects", printed).groups()
    assert float(error) < 0.1
    assert int(found) >= 60


def test_zoo_table_names_models_and_notebooks_that_exist():
    import bayeskernels as bk

    text = README.read_text()
    for name in re.findall(r"\| `bk\.models\.(\w+)`", text):
        assert hasattr(bk.models, name)
    for name in re.findall(r"\| `(\d\d_\w+)` \|", text):
        assert (README.parent / "notebooks" / f"{name}.ipynb").exists()
