"""Functions written out: the text, run by Python, gives what the function gives."""

from __future__ import annotations

import linecache
import math
import types
from enum import IntEnum
from math import sqrt
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from numpy import float32

from penstock.device.source import write_out
from penstock.device.written import Written
from penstock.errors import ProgramError

KNOWN = {
    "src": ["rank", "out_degree"],
    "dst": ["rank"],
    "edge": ["weight"],
    "p": ["alpha"],
}
SRC = SimpleNamespace(rank=3.0, out_degree=2)
DST = SimpleNamespace(rank=5.0)
EDGE = SimpleNamespace(weight=7.0)
P = SimpleNamespace(alpha=0.5)
RECORDS = {"src": SRC, "dst": DST, "edge": EDGE, "p": P}

FACTOR = 2.5
COUNT = np.int32(3)
FAR = float("inf")
SETTINGS = types.ModuleType("settings")
SETTINGS.SCALE = 10
SETTINGS.twice = lambda x: 2 * x


class Color(IntEnum):
    RED = 4


def written(function) -> Written:
    return write_out(function, "gather", "user_gather", KNOWN)


def text_of(each: Written) -> str:
    return "".join(each.before) + each.text


def value_of(function):
    """What the text gives, and what the function itself gives."""
    each = written(function)
    names = {"np": np, "function": lambda f: f}
    exec(text_of(each), names)
    given = [getattr(RECORDS[i.kind], i.field) for i in each.inputs]
    plain = getattr(function, "py_func", function)
    records = [SRC, EDGE, DST, P][: plain.__code__.co_argcount]
    return names["user_gather"](*given), plain(*records)


def same(function):
    ours, theirs = value_of(function)
    assert ours == theirs
    return ours


def helper(x, scale=2, *, _nothing=None):
    return x


def half(x, by=2):
    return x / by


def share(vertex, by=1.0):
    return half(vertex.rank, by=by) / vertex.out_degree


def test_fields_become_parameters():
    each = written(lambda src, edge, dst, p: src.rank * edge.weight + p.alpha * dst.rank)
    assert [i.name for i in each.inputs] == ["src_rank", "edge_weight", "p_alpha", "dst_rank"]
    assert each.fields("src") == ["rank"]
    assert each.fields("new") == []


def test_parameters_may_have_any_names():
    def gather(src_rank, p, np):
        return src_rank.rank - np.rank + p.weight

    assert same(gather) == 5.0


def test_constants_from_the_file_and_from_a_closure():
    inner = 4

    def gather(src, edge, dst):
        return FACTOR * src.rank + inner + COUNT + min(FAR, 2.0) + Color.RED.value

    with pytest.raises(ProgramError, match="'Color' is a EnumType"):
        written(gather)
    red = Color.RED
    assert same(lambda src, edge, dst: FACTOR * src.rank + inner + COUNT + min(FAR, 2.0) + red)


def test_constants_are_in_the_text_with_their_types():
    before = written(lambda src, edge, dst: FACTOR + COUNT + FAR + src.rank).before
    assert [line.partition(" = ")[2] for line in before] == [
        "2.5\n", "np.int32(3)\n", 'float("inf")\n',
    ]  # fmt: skip


def test_functions_of_math_and_numpy_however_imported():
    def gather(src, edge, dst):
        return math.sqrt(src.rank) + np.sin(dst.rank) + sqrt(edge.weight) + float32(1) + math.pi

    same(gather)


def test_members_of_a_module_of_the_users():
    same(lambda src, edge, dst: SETTINGS.SCALE * SETTINGS.twice(src.rank))
    with pytest.raises(ProgramError, match="module settings has no 'NONE'"):
        written(lambda src, edge, dst: SETTINGS.NONE)


def test_helpers_with_defaults_keywords_and_helpers_of_their_own():
    def outer(x, y=3.0):
        return half(x) + half(by=y, x=x)

    assert same(lambda src, edge, dst: outer(src.rank) + outer(src.rank, 4.0)) == 1.5 * 2 + 1.75


def test_helpers_take_records():
    each = written(lambda src, edge, dst: share(src) + share(by=2.0, vertex=src))
    with pytest.raises(ProgramError, match="is no number"):
        written(lambda src, edge, dst: half(src))
    assert each.fields("src") == ["rank", "out_degree"]
    same(lambda src, edge, dst: share(src, 4.0))


def test_the_same_helper_is_written_once():
    text = text_of(written(lambda src, edge, dst: half(src.rank) + half(dst.rank)))
    assert text.count("_half(") == 3  # its definition, and two calls


@pytest.mark.parametrize(
    "call", [lambda src, edge, dst: half(), lambda src, edge, dst: half(1, 2, 3),
             lambda src, edge, dst: half(1, z=2), lambda src, edge, dst: half(1, x=2)],
)  # fmt: skip
def test_calls_that_do_not_fit(call):
    with pytest.raises(ProgramError, match=r"half takes \(x, by\): this call does not fit"):
        written(call)


def test_helpers_with_stars_and_recursion_are_refused():
    def again(x):
        return again(x - 1)

    with pytest.raises(ProgramError, match="plain parameters"):
        written(lambda src, edge, dst: helper(src.rank))
    with pytest.raises(ProgramError, match="cannot call itself"):
        written(lambda src, edge, dst: again(src.rank))


def test_several_lambdas_on_a_line():
    one, two = (lambda src, edge, dst: src.rank), (lambda src, edge, dst: dst.rank)
    three = [lambda src, edge, dst: src.rank + 1, lambda src, edge, dst: src.rank + 2]
    assert [same(f) for f in (one, two, *three)] == [3.0, 5.0, 4.0, 5.0]


def test_a_lambda_over_several_lines():
    program = SimpleNamespace(
        init=lambda vertex: 1.0, gather=lambda src, edge, dst:
            src.rank
            + edge.weight,
    )  # fmt: skip
    assert same(program.gather) == 10.0


def test_bodies_with_branches_and_loops():
    def gather(src, edge, dst, p):
        """What it does."""
        total: float = 0.0
        unused: int  # noqa: F842
        if src.rank > dst.rank:
            total = 1.0
        elif src.rank == dst.rank:
            total = 2.0
        else:
            for k in range(5):
                if k == 3:
                    continue
                total += k * p.alpha
        while total < 100:
            total *= 2
        first, second = total, 1
        return first if second else (total := 0.0)

    assert same(gather) > 100


def test_names_beyond_ascii():
    größe = 2.0

    def überschuss(src, kante, ziel):
        länge = kante.weight * größe
        return länge + src.rank

    assert same(überschuss) == 17.0


def test_a_compiled_function_and_annotations():
    @numba.njit(cache=False)
    def gather(src: SRC, edge: "no such type", dst):  # noqa: F722
        return src.rank

    assert same(gather) == 3.0


def test_functions_of_a_notebook():
    """Their source is nowhere but in linecache."""
    name = "<ipython-input-3-0123456789ab>"
    text = "await nothing()\ndef gather(src, edge, dst):\n    return src.rank * 2\n"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names: dict = {}
    exec(compile("\n" + text.partition("\n")[2], name, "exec"), names)
    assert same(names["gather"]) == 6.0
    assert written(names["gather"]).lines == (2, 3)


def test_functions_without_source_or_with_another():
    names: dict = {}
    exec("def gather(src, edge, dst):\n    return src.rank\n", names)
    with pytest.raises(ProgramError, match=r"<string>:1: gather: its source is not available"):
        written(names["gather"])
    name = "<edited>"
    linecache.cache[name] = (1, None, ["def gather(src, edge, dst):\n", "    return 2\n"], name)
    exec(compile("def gather(src, edge, dst):\n    return 1\n", name, "exec"), names)
    with pytest.raises(ProgramError, match="not what was loaded"):
        written(names["gather"])


def test_the_users_names_meet_no_others():
    """Locals that are called like fields, outside names, or each other's prefixes."""
    own_x = 1.0
    user_gather_0_c = 2.0

    def gather(src, edge, dst):
        src_rank = 10.0
        own_src_rank = own_x
        user_gather_1_half = 3.0
        c = half(user_gather_0_c) + user_gather_1_half
        return src_rank + src.rank * 100 + own_src_rank + c

    same(gather)


def test_the_text_knows_nothing_of_where_it_was_written():
    def make():
        return lambda src, edge, dst: src.rank * FACTOR + half(1)

    def other():
        return lambda src, edge, dst: src.rank * FACTOR + half(1)

    assert text_of(written(make())) == text_of(written(other()))
