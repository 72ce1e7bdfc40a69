"""Mistakes in a program: one short line that names the function, the file and the line."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest
from device_programs import plain_program

import penstock as ps
from penstock.errors import OptionError, PenstockError, ProgramError

GRAPH = ps.from_edges([0, 1, 2], [1, 2, 0], [1.0, 2.0, 3.0])
TABLE = [1, 2, 3]


def program(**changed):
    return plain_program(**{"name": "test", **changed})


def message(run) -> str:
    with pytest.raises(PenstockError) as caught:
        run()
    text = str(caught.value)
    assert len(text) < 400
    assert "\n" not in text
    assert "numba" not in text.lower()
    return text


def complaint(function, role, line, **more) -> str:
    """What is said about a function, after file, line and role; ``line`` counts from its first."""
    text = message(lambda: ps.run(GRAPH, program(**{role: function}, **more)))
    first = function.__code__.co_firstlineno
    place = re.escape(f"{__file__}:{first + line}: {role}")
    found = re.match(rf"{place}( \(\w+\))?: (.*)", text)
    assert found, text
    return found[2]


# Found before anything is compiled


def test_a_field_that_is_not_there():
    def gather(src, edge, dst):
        y = 1
        return src.z + y

    said = complaint(gather, "gather", 2)
    assert said == "src has no 'z'; it has x, out_degree, in_degree, index, vid"


def test_an_edge_column_that_is_not_there():
    said = complaint(lambda src, edge, dst: edge.cost, "gather", 0)
    assert said == "edge has no 'cost'; it has weight"


def test_setting_a_field():
    def apply(old, a):
        old.x = a
        return a

    assert complaint(apply, "apply", 1) == "old.x cannot be set; return new values"


def test_a_record_used_as_a_number():
    def spread(src, edge, dst):
        return src

    said = complaint(spread, "gather", 1)
    assert said == "src has fields, such as src.x; it is no number"


def test_the_wrong_number_of_arguments():
    said = complaint(lambda src: src.x, "gather", 0)
    assert said == "expected a function (src, edge, dst[, p]), got (src)"
    assert "got * among them" in complaint(lambda *all: 1.0, "gather", 0)


def test_a_name_that_is_not_defined():
    def apply(old, a):
        return a + missing  # noqa: F821

    assert complaint(apply, "apply", 1) == "'missing' is not defined"


def test_a_list_from_outside():
    said = complaint(lambda src, edge, dst: TABLE[0], "gather", 0)
    assert said.startswith("'TABLE' is a list; only numbers, math, numpy and plain functions")


def test_a_variable_that_has_no_value_yet():
    def gather(src, edge, dst):
        return src.x + later

    said = complaint(gather, "gather", 1)
    assert said == "'later' has no value yet"
    later = 1.0


def test_modules_other_than_math_and_numpy():
    assert "'time' is a builtin" in complaint(lambda src, edge, dst: time.time(), "gather", 0)


def test_things_that_no_kernel_does():
    def with_function(src, edge, dst):
        def inner():
            return 1

        return inner()

    def with_import(src, edge, dst):
        import math

        return math.pi

    assert "'function' inside cannot be used" in complaint(with_function, "gather", 1)
    assert "'import' inside cannot be used" in complaint(with_import, "gather", 1)
    assert "comprehension" in complaint(lambda old, a: max([2 * k for k in (1, 2)]), "apply", 0)


def test_what_is_not_a_python_function():
    said = message(lambda: ps.run(GRAPH, program(apply=max)))
    assert said == "apply: expected a Python function, got <built-in function max>"


def test_a_mistake_in_a_helper_is_said_of_the_helper():
    def helper(v):
        return v.y

    def gather(src, edge, dst):
        return helper(src)

    text = message(lambda: ps.run(GRAPH, program(gather=gather)))
    line = helper.__code__.co_firstlineno + 1
    assert text.startswith(f"{__file__}:{line}: helper: v has no 'y'; it has x")


# Found by the compiler


def test_a_type_error_inside():
    def gather(src, edge, dst):
        y = 2.0
        return y + "text"

    assert "add(" in complaint(gather, "gather", 2)


def test_a_type_error_inside_a_helper():
    def helper(v):
        w = v
        return w.real.foo

    text = message(lambda: ps.run(GRAPH, program(apply=lambda old, a: helper(a))))
    assert text.startswith(f"{__file__}:{helper.__code__.co_firstlineno + 2}: helper: ")
    assert "foo" in text


def test_a_function_that_numpy_does_not_have():
    said = complaint(lambda old, a: np.nosuch(a), "apply", 0)
    assert said == "module numpy has no 'nosuch'"
    assert "triu_indices(float64)" in complaint(lambda old, a: np.triu_indices(a), "apply", 0)


def test_the_users_names_are_in_what_the_compiler_says():
    def apply(old, total):
        return total.foo + old.x

    assert "own_" not in complaint(apply, "apply", 1)


def test_functions_that_return_too_much_or_too_little():
    said = complaint(lambda src, edge, dst: (src.x, 1), "gather", 0)
    assert said.startswith("it returns 2 values, where the accumulator")
    said = complaint(lambda old, a: (a, a, a), "apply", 0)
    assert said == "it returns 3 values, where the state (x) has 1"
    two = {"state": {"x": np.float64, "y": np.float64}, "init": lambda vertex: (1.0, 2.0)}
    said = complaint(lambda old, a: (a, a, a), "apply", 0, **two)
    assert said == "it returns 3 values, where the state (x, y) has 2"
    assert complaint(lambda old, a: a, "apply", 0, **two).startswith("it returns one value")


def test_functions_that_return_no_number():
    assert "where a number is wanted" in complaint(lambda src, edge, dst: "a", "gather", 0)
    assert "where a number is wanted" in complaint(lambda vertex: None, "init", 0)


# Found in what the program declares


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"identity": "zero"}, "identity: 'zero' is no float64"),
        ({"identity": np.inf, "accumulator": np.int64}, "identity: inf is no int64"),
        ({"identity": -1, "accumulator": np.uint32}, "identity: -1 is no uint32"),
        ({"identity": (0, 0)}, "identity has 2 values, accumulator 1 dtypes"),
        ({"identity": (0, 0), "accumulator": ("f8", "i8")}, "tuples need a function"),
        ({"accumulator": np.bool}, "accumulator: expected one of int8"),
        ({"state": {"x": "f2"}}, "field 'x': expected one of bool"),
        ({"state": {"x": "nonsense"}}, "got nonsense"),
        ({"state": {}}, "at least one state field"),
        ({"state": {"vid": "f4"}}, "'vid' is taken"),
        ({"state": {"two words": "f4"}}, "cannot be the name"),
        ({"totals": {"iteration": lambda new, old: 1.0}}, "cannot be the name"),
        ({"sum": "mean"}, "expected add, min, max or a function"),
        ({"sum": None}, "expected add, min, max or a function"),
    ],
)
def test_declarations(changed, said):
    with pytest.raises(ProgramError, match=re.escape(said)):
        program(**changed)


def test_parameters_that_are_no_numbers_or_not_free():
    with pytest.raises(OptionError, match="expected a number for 'c', got list"):
        ps.run(GRAPH, program(), params={"c": [1]})
    with pytest.raises(OptionError, match=r"has p\.iteration already"):
        ps.run(GRAPH, program(), params={"iteration": 1})
