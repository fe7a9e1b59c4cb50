import re
from html.parser import HTMLParser

import pytest

from bayeskernels.zoo import find_entry, run_entry
from bayeskernels.zoo.report import render_report

VOID = {"meta", "br", "hr", "img", "link", "input"}


@pytest.fixture(scope="module")
def html():
    names = ["label-noise-by-class", "label-noise-inferred"]
    return render_report(
        [run_entry(find_entry(name), draws=60, chains=2) for name in names], random_seed=5
    )


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.resources, self.ids, self.open, self.anchors = [], [], [], []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag not in VOID:
            self.open.append(tag)
        self.note(tag, attributes)

    def handle_startendtag(self, tag, attributes):
        self.note(tag, dict(attributes))

    def note(self, tag, attributes):
        for name in ("src", "href", "xlink:href", "srcset", "data"):
            if name in attributes:
                self.resources.append((tag, attributes[name]))
        if "id" in attributes:
            self.ids.append(attributes["id"])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_report_is_well_formed_and_needs_nothing_else(html):
    reader = _Reader()
    reader.feed(html)
    assert reader.open == []
    assert reader.resources
    for _, target in reader.resources:
        assert target.startswith(("#", "data:image/png;base64,"))
    assert not re.search(r"@import|<script|<link|url\((?!#)", html)


def test_ids_are_unique_and_references_are_answered(html):
    reader = _Reader()
    reader.feed(html)
    assert len(set(reader.ids)) == len(reader.ids)
    wanted = {target[1:] for _, target in reader.resources if target.startswith("#")}
    wanted |= set(re.findall(r"url\(#([^)]*)\)", html))
    assert wanted <= set(reader.ids)


def test_report_shows_models_versions_and_figures(html):
    assert "Class-dependent label noise" in html
    assert "T. Graepel and R. Herbrich" in html
    assert "seed <b>5</b>" in html
    assert "pymc <b>" in html
    assert "notebooks/01_kernel_gibbs_sampler.ipynb" in html
    titles = re.findall(r"<h3>(.*?)</h3>", html)
    assert titles.count("Votes over the plane") == 1, "breast cancer has no plane"
    assert titles.count("Which labels are wrong") == 1
    assert titles.count("Traces") == titles.count("Ranks") == titles.count("Rejection") == 2


def test_figures_follow_the_colours_of_the_page(html):
    assert "prefers-color-scheme: dark" in html
    assert "currentColor" in html
    assert "#010203" not in html
