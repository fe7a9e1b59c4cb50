import pytest

from bayeskernels.zoo import all_entries, find_entry, register
from bayeskernels.zoo.registry import unregister


@pytest.fixture
def options():
    return {"name": "a-test", "title": "A test", "source": "KGS", "steps": ["Slice"], "load": dict}


def build(problem):
    """The summary
    in two lines.
    """


def test_an_entry_joins_with_the_docstring_as_summary(options):
    try:
        assert register(**options, draws=7)(build) is build
        entry = find_entry("a-test")
    finally:
        unregister("a-test")
    assert entry.summary == "The summary in two lines."
    assert entry.draws == 7
    assert entry.source.citation.startswith("T. Graepel")
    assert entry not in all_entries()


def test_a_name_is_given_once(options):
    with pytest.raises(ValueError, match=r"already has an entry 'version-space' \(Version space"):
        register(**options | {"name": "version-space"})(build)


def test_a_source_must_be_known(options):
    with pytest.raises(ValueError, match="Unknown source 'XYZ': expected one of KGS, BPM"):
        register(**options | {"source": "XYZ"})(build)


def test_a_builder_needs_a_docstring(options):
    with pytest.raises(ValueError, match="needs a summary"):
        register(**options)(lambda problem: None)


def test_a_misspelt_name_is_answered_with_near_ones():
    with pytest.raises(ValueError, match="no model 'version-spice': did you mean version-space"):
        find_entry("version-spice")


def test_every_entry_is_complete():
    entries = all_entries()
    assert len(entries) >= 6
    for entry in entries:
        assert entry.name == entry.name.lower()
        assert " " not in entry.name
        assert entry.notebook.endswith(".ipynb")
        assert entry.steps


@pytest.mark.parametrize("entry", all_entries(), ids=lambda entry: entry.name)
def test_data_are_the_same_every_time_and_fit_together(entry):
    problem, again = entry.load(), entry.load()
    assert (problem.X == again.X).all()
    assert (problem.y == again.y).all()
    assert problem.X.shape == (len(problem.y), problem.n_features)
    assert problem.X_test.shape == (len(problem.y_test), problem.n_features)
    if problem.y.dtype.kind != "f":
        assert set(problem.y_test) == set(problem.y)
    if problem.flipped is not None:
        assert problem.flipped.shape == problem.y.shape
        assert problem.flipped.any()
