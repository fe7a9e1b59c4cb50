import datetime

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from bayeskernels.inputs import as_inputs, as_known_labels, as_new_inputs, as_two_classes


def test_inputs():
    values, columns = as_inputs([[1, 2], [3, 4]])
    assert values.dtype == float
    assert columns == ["0", "1"]


def test_data_frames_keep_their_column_names():
    values, columns = as_inputs(pd.DataFrame({"age": [1, 2], "height": [3.0, 4.0]}))
    np.testing.assert_array_equal(values, [[1, 3], [2, 4]])
    assert columns == ["age", "height"]


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        ([1.0, 2.0], ValueError, "two dimensions"),
        ([["a"], ["b"]], TypeError, "numeric"),
        (np.empty((0, 3)), ValueError, "empty"),
        ([[1.0], [np.nan], [np.inf]], ValueError, "2 of its rows .* row 1"),
    ],
)
def test_bad_inputs(X, error, message):
    with pytest.raises(error, match=message):
        as_inputs(X)


def test_new_inputs():
    assert as_new_inputs([[1.0, 2.0]], 2).shape == (1, 2)
    with pytest.raises(ValueError, match="X_new has 2 columns, the model was trained with 3"):
        as_new_inputs([[1.0, 2.0]], 3)
    with pytest.raises(ValueError, match="X_new has NaN"):
        as_new_inputs([[np.nan, 2.0]], 2)


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        ([1, -1, 1], [-1, 1]),
        (["no", "yes", "no"], ["no", "yes"]),
        ([True, False, True], [False, True]),
        (np.array([[2.5], [0.5], [2.5]]), [0.5, 2.5]),
        (np.array(["a", "b", "a"], dtype=object), ["a", "b"]),
    ],
)
def test_two_classes(labels, names):
    classes = as_two_classes(labels, 3)
    assert classes.names.tolist() == names
    np.testing.assert_array_equal(classes.names[classes.codes], np.ravel(labels))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1], "one label per row"),
        ([[0, 1, 0], [1, 0, 1]], "one label per row"),
        ([1, 1, 1], "only one class"),
        ([0, 1, 2], "y has 3"),
        ([0, 1, np.nan], "NaN"),
        (np.array(["a", None, "b"], dtype=object), "no label at position 1"),
    ],
)
def test_bad_labels(labels, message):
    with pytest.raises(ValueError, match=message):
        as_two_classes(labels, 3)


MISSING_LABELS = {
    "nan in text": ["a", np.nan, "b"],
    "None": ["a", None, "b"],
    "NaT": [1, pd.NaT, 2],
    "NA": [1, pd.NA, 2],
    "NaN": np.array([0.0, np.nan, 1.0]),
    "objects": np.array(["a", float("nan"), "b"], dtype=object),
    "nan as text": np.array(["a", np.nan, "b"]),
    "NaT as text": np.array(["a", np.datetime64("NaT", "D"), "b"]),
    "dates": np.array(["2020-01-01", "NaT", "2021-01-01"], dtype="datetime64[D]"),
    "nullable": pd.Series([0, None, 1], dtype="Int64"),
    "nullable text": pd.Series(["a", None, "b"], dtype="string"),
    "categories": pd.Series(["a", None, "b"], dtype="category"),
    "masked": np.ma.array([0, 1, 1], mask=[False, True, False]),
    "column": pd.DataFrame({"y": [0.0, np.nan, 1.0]}),
}


@pytest.mark.parametrize("name", MISSING_LABELS)
def test_missing_labels_are_refused_with_their_position(name):
    with pytest.raises(ValueError, match=r"^y .*(at|first at) position 1\b"):
        as_two_classes(MISSING_LABELS[name], 3)


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        (None, ValueError, "y is needed"),
        ([1, "a", 1], TypeError, "one type"),
        (np.array([1, "a", 1], dtype=object), TypeError, "one type"),
        (np.array([1 + 1j, 0, 1]), TypeError, "complex"),
        ([0, np.inf, 1], ValueError, "infinite label at position 1"),
        ([[0], [1, 2], [1]], ValueError, "y must be an array"),
    ],
)
def test_labels_that_are_none(labels, error, message):
    with pytest.raises(error, match=message):
        as_two_classes(labels, 3)


DAYS = np.array(["2020-01-01", "2021-06-01", "2020-01-01"], dtype="datetime64[D]")
LABELS_OF_TIME = {
    "days": DAYS,
    "nanoseconds": DAYS.astype("datetime64[ns]"),
    "column": pd.DataFrame({"y": DAYS}),
    "series": pd.Series(DAYS),
    "time zone": pd.Series(pd.DatetimeIndex(DAYS).tz_localize("UTC")),
    "dates": DAYS.tolist(),
    "timestamps": [pd.Timestamp(day) for day in DAYS],
    "objects of NumPy": list(DAYS),
    "periods": pd.Series(pd.PeriodIndex(DAYS, freq="D")),
    "time differences": DAYS - DAYS[0],
    "timedelta": (DAYS - DAYS[0]).tolist(),
    "times": [datetime.time(1), datetime.time(2), datetime.time(1)],
}


@pytest.mark.parametrize("name", LABELS_OF_TIME)
def test_dates_are_no_labels(name):
    """They come back from coords in other units, and would then be unknown labels."""
    with pytest.raises(TypeError, match=r"labels in y are dates .* give its text"):
        as_two_classes(LABELS_OF_TIME[name], 3)
    with pytest.raises(TypeError, match="labels in y_true are dates"):
        as_known_labels(LABELS_OF_TIME[name], DAYS[:2], 3, name="y_true", inputs="X_new")


def test_text_of_dates_is_a_label():
    text = pd.Series(DAYS).astype(str)
    assert as_two_classes(text, 3).names.tolist() == ["2020-01-01", "2021-06-01"]
    assert as_known_labels(text, text[:2].values, 3, name="y_true", inputs="X_new")[1] == text[1]


@pytest.mark.parametrize("name", ["series", "time zone", "dates", "periods"])
def test_missing_dates_are_missing_labels(name):
    """Also where the others would be refused as dates."""
    missing = pd.Series(LABELS_OF_TIME[name])
    missing[1] = None
    for labels in (missing, missing.tolist()):
        with pytest.raises(ValueError, match=r"y has (NaT|None|NaN): no label at position 1"):
            as_two_classes(labels, 3)


def test_labels_of_pandas():
    for y in (
        pd.Series(["b", "a", "b"], dtype="category"),
        pd.Series(["b", "a", "b"], dtype="string"),
        pd.Series([1, 0, 1], dtype="Int64"),
        pd.Series([True, False, True], dtype="boolean"),
        np.ma.array([1, 0, 1], mask=False),
    ):
        assert as_two_classes(y, 3).codes.tolist() == [1, 0, 1]


DATES = np.array([["2020-01-01"], ["2021-01-01"]], dtype="datetime64[D]")
NO_NUMBERS = {
    "text": (np.array([["1"], ["2"]]), TypeError, "text"),
    "text among numbers": ([[1, "2"], [3, 4]], TypeError, "text"),
    "bytes": (np.array([[b"1"], [b"2"]]), TypeError, "text"),
    "objects": (np.array([[1, 2], [3, "4"]], dtype=object), TypeError, "str at row 1, column 1"),
    "dates": (DATES, TypeError, "dates"),
    "time differences": (DATES - DATES[0], TypeError, "time differences"),
    "timestamps": ([[pd.Timestamp(2020, 1, 1)], [pd.Timestamp(2021, 1, 1)]], TypeError, "X must"),
    "complex": (np.array([[1 + 0j], [2]]), TypeError, "complex"),
    "records": (np.zeros((2, 1), dtype=[("a", float)]), TypeError, "records"),
    "masked": (np.ma.array([[1.0], [2.0]], mask=[[0], [1]]), ValueError, "masked .* position 1"),
    "None": (np.array([[1.0], [None]]), ValueError, "position 1"),
    "NA": ([[1.0, 2.0], [3.0, pd.NA]], ValueError, "row 1, column 1"),
    "ragged": ([[1.0], [1.0, 2.0]], ValueError, "array"),
    "sparse": (sparse.csr_array(np.eye(2)), TypeError, "toarray"),
    "a dictionary": ({"a": [1.0]}, TypeError, "dict"),
    "categories": (pd.DataFrame({"a": [1, 2], "b": pd.Categorical([1, 2])}), TypeError, "'b'"),
    "column of text": (pd.DataFrame({"a": [1, 2], "b": ["1", "2"]}), TypeError, "'b'"),
    "column of objects": (
        pd.DataFrame({"a": [1, 2], "b": np.array([1, "2"], dtype=object)}),
        TypeError,
        "'b'",
    ),
    "column of dates": (pd.DataFrame({"a": [1, 2], "b": DATES[:, 0]}), TypeError, "'b'"),
    "missing in a column": (
        pd.DataFrame({"a": [1, 2], "b": pd.array([1, None], dtype="Int64")}),
        ValueError,
        "row 1.*columns 'b'",
    ),
}


@pytest.mark.parametrize("name", NO_NUMBERS)
def test_inputs_that_are_no_numbers(name):
    X, error, message = NO_NUMBERS[name]
    with pytest.raises(error, match=message):
        as_inputs(X)


def test_numbers_of_pandas():
    frame = pd.DataFrame(
        {
            "whole": pd.array([1, 2], dtype="Int64"),
            "real": pd.array([0.5, 1.5], dtype="Float64"),
            "yes": pd.array([True, False], dtype="boolean"),
            "plain": [True, False],
            "objects": np.array([1, 2.5], dtype=object),
        }
    )
    values, columns = as_inputs(frame)
    np.testing.assert_array_equal(values, [[1, 0.5, 1, 1, 1], [2, 1.5, 0, 0, 2.5]])
    assert columns == list(frame.columns)
    np.testing.assert_array_equal(as_inputs(np.ma.array([[1.0]], mask=False))[0], [[1.0]])
    np.testing.assert_array_equal(as_inputs(np.array([[1, True]], dtype=object))[0], [[1, 1]])


def test_known_labels():
    names = np.array([-1, 1])
    assert as_known_labels([1, -1], names, 2, name="y_true", inputs="X").tolist() == [1, -1]
    for labels in ([0, 1], ["1", "-1"], [1, 2]):
        with pytest.raises(
            ValueError, match=r"y_true has the label .* classes of the model are -1"
        ):
            as_known_labels(labels, names, 2, name="y_true", inputs="X")
    with pytest.raises(ValueError, match="y_true has None: no label at position 1"):
        as_known_labels([1, None], names, 2, name="y_true", inputs="X")
