import numpy as np
import pytest

from bayeskernels.inputs import as_inputs, as_new_inputs, as_two_classes


def test_inputs():
    values, columns = as_inputs([[1, 2], [3, 4]])
    assert values.dtype == float
    assert columns == ["0", "1"]


def test_data_frames_keep_their_column_names():
    pandas = pytest.importorskip("pandas")
    values, columns = as_inputs(pandas.DataFrame({"age": [1, 2], "height": [3.0, 4.0]}))
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
