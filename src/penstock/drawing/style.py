"""What all pictures have in common: style, and small helpers.

Needs Matplotlib, the extra ``penstock[plot]``, and imports it when something is drawn.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.drawing.colors import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, SKY
from penstock.errors import OptionError
from penstock.files import unfinished

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg", ".pdf")
#: The same rows give the same bytes.
_UNDATED: dict[str, Any] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}

_STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "svg.hashsalt": "penstock",
}


def check_drawing(path: str | os.PathLike[str] | None = None) -> None:
    """Raise unless pictures can be drawn, and drawn into a file of that name."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise OptionError(
            "pictures need Matplotlib, which is not installed; "
            "install it with: pip install 'penstock[plot]'"
        ) from None
    if path is not None and Path(path).suffix.lower() not in SUFFIXES:
        raise OptionError(
            f"{path}: expected a picture's name to end in {', '.join(SUFFIXES[:-1])} or "
            f"{SUFFIXES[-1]}"
        )


@contextmanager
def drawn_alike() -> Iterator[None]:
    """What is drawn or written within it has the common look; nothing stays set afterwards."""
    check_drawing()
    import matplotlib
    from matplotlib.rcsetup import cycler

    colors = [BLUE, ORANGE, GREEN, PURPLE, SKY]
    style = _STYLE | {"axes.prop_cycle": cycler(color=colors)}
    with matplotlib.rc_context(style):  # type: ignore[arg-type, unused-ignore]
        yield


def new_figure(width: float, height: float) -> Figure:
    """A figure of no window and no notebook, to be made where things are :func:`drawn_alike`."""
    from matplotlib.figure import Figure

    return Figure((width, height), layout="constrained")


def save_figure(figure: Figure, path: Path, *, overwrite: bool = True) -> None:
    """Write a picture, whole or not at all; the end of its name says which kind."""
    check_drawing(path)
    suffix = path.suffix.lower()
    with unfinished(path, overwrite=overwrite) as temporary:
        figure.savefig(temporary, format=suffix[1:], dpi=160, metadata=_UNDATED.get(suffix))


@contextmanager
def open_figure(path: Path, width: float, height: float) -> Iterator[Figure]:
    """A figure to draw on, which is written at the end of the block."""
    check_drawing(path)
    with drawn_alike():
        figure = new_figure(width, height)
        yield figure
        save_figure(figure, path)


def add_note(figure: Figure, text: str) -> None:
    """A line below everything."""
    figure.supxlabel(text, x=0.01, ha="left", fontsize=7.5, color=GREY)


def as_seconds(value: float) -> str:
    """
    >>> as_seconds(0.0123), as_seconds(4.56)
    ('12.3 ms', '4.6 s')
    """
    return f"{value * 1000:.3g} ms" if value < 1 else f"{value:.2g} s"


def plain_ticks(axis: Any, values: Sequence[float] | None = None) -> None:
    """Numbers as people write them, also on logarithmic axes; only at ``values`` if given."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_major_locator(
        LogLocator(subs=(1.0, 3.0)) if values is None else FixedLocator(list(values))
    )
    axis.set_minor_locator(NullLocator())


def short_number(value: float) -> str:
    """A number for a tick.

    >>> short_number(20_000), short_number(3e6), short_number(2e9), short_number(1e-5)
    ('20,000', '3 M', '2 G', '1e-5')
    """
    for size, letter in ((1e9, "G"), (1e6, "M")):
        if abs(value) >= size:
            return f"{value / size:,g} {letter}"
    return f"{value:,g}".replace("e-0", "e-")


def number_ticks(axis: Any) -> None:
    """Short numbers at the ticks that the axis has; more ticks if it is logarithmic and short."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = sorted(axis.get_view_interval())
    if axis.get_scale() == "log" and high < 100 * low:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: short_number(value)))
    axis.set_minor_formatter(NullFormatter())


def add_legend(axes: Axes, entries: dict[str, str], **options: Any) -> None:
    """Coloured words instead of a box with samples."""
    from matplotlib.lines import Line2D

    samples = [Line2D([], [], color=color, lw=0) for color in entries.values()]
    legend = axes.legend(
        samples, list(entries), handlelength=0, handletextpad=0, frameon=False, **options
    )
    for text, color in zip(legend.get_texts(), entries.values(), strict=True):
        text.set_color(color)
        text.set_fontweight("bold")
