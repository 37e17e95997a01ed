"""The timeline's empty figure: axes, tools and sources; the page's script fills in the marks. Room: report."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

_LANE_PIXELS = 27
_FRAME_PIXELS = 64


def timeline_figure(letter: str, lanes: int) -> Any:
    """A figure of `lanes` lanes for the trace of that letter. The wheel alone scrolls the page; with Ctrl it zooms."""
    from bokeh.events import Tap
    from bokeh.models import BoxZoomTool, CustomJS, PanTool, Range1d, ResetTool, WheelZoomTool
    from bokeh.plotting import figure

    pan, wheel = PanTool(dimensions="width"), WheelZoomTool(dimensions="width", modifiers="ctrl")
    plot = figure(
        height=max(4, lanes) * _LANE_PIXELS + _FRAME_PIXELS,
        sizing_mode="stretch_width",
        x_range=Range1d(start=0, end=1),
        y_range=Range1d(start=max(1, lanes), end=0),
        tools=[pan, wheel, BoxZoomTool(dimensions="width"), ResetTool()],
        active_drag=pan,
        active_scroll=wheel,
        toolbar_location=None,
        x_axis_label="ms since the beginning of the strip",
        min_border_left=150,
        lod_threshold=None,
    )
    plot.background_fill_color = plot.border_fill_color = None  # the page's own colour shows through
    _axes(plot)
    plot.add_tools(_hover(letter, _marks(plot)))
    plot.js_on_event(Tap, CustomJS(code=f"kerntrace.tap('{letter}', cb_obj.x, cb_obj.y)"))
    return plot


def _axes(plot: Any) -> None:
    from bokeh.models import CustomJSTickFormatter, FixedTicker

    plot.xaxis.formatter = CustomJSTickFormatter(
        code="return kerntrace.ms(tick, ticks.length > 1 ? 10 * (ticks[1] - ticks[0]) : 1e7)"
    )
    plot.yaxis.ticker = FixedTicker(ticks=[])
    plot.ygrid.visible = False


def _hover(letter: str, marks: Any) -> Any:
    """What hovering says of a mark: the page's script finds the words, the tool shows them as text."""
    from bokeh.models import CustomJS, CustomJSHover, HoverTool

    columns = (("", "@id", "name"), ("time", "@left", "time"), ("what", "@right", "why"), ("launch", "@count", "launch"))
    return HoverTool(
        renderers=[marks],
        tooltips=[(heading, f"{column}{{{field}}}") for heading, column, field in columns],
        formatters={
            column: CustomJSHover(code=f"return kerntrace.tell('{letter}', special_vars.index, '{field}')")
            for _, column, field in columns
        },
        point_policy="follow_mouse",
        attachment="below",
        callback=CustomJS(code=f"kerntrace.hover('{letter}', cb_data.index.indices)"),
    )


def _marks(plot: Any) -> Any:
    """Adds the marks, the labels on them and the line from a launch to its work; returns the marks' renderer."""
    from bokeh.models import ColumnDataSource

    empty = ("left", "right", "top", "bottom", "color", "id", "count", "covered")
    marks = plot.quad(
        left="left",
        right="right",
        top="top",
        bottom="bottom",
        fill_color="color",
        line_color=None,
        source=ColumnDataSource({name: [] for name in empty}),
    )
    marks.tags = ["marks"]
    labels = plot.text(
        x="x",
        y="y",
        text="text",
        text_color="color",
        text_font_size="11px",
        text_baseline="middle",
        source=ColumnDataSource({"x": [], "y": [], "text": [], "color": []}),
    )
    labels.tags = ["labels"]
    links = plot.line(x="x", y="y", line_width=2, source=ColumnDataSource({"x": [], "y": []}), line_color="#444444")
    links.tags = ["links"]
    links.name = "ink"
    return marks
