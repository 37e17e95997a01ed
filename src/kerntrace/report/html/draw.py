"""Charts drawn by Bokeh, with hovering, zooming and panning. Room: report."""

from __future__ import annotations

from typing import Any

from kerntrace.report.figures.chart import Chart, Series

_INK = "#444444"  # the page's script gives it the colour of the theme
_FAINT = 0.3
_COLUMNS = 3  # of a legend below


def draw(chart: Chart) -> Any:
    """The figure of a chart. The wheel alone scrolls the page; with Ctrl it zooms."""
    from bokeh.models import BoxZoomTool, HoverTool, PanTool, ResetTool, WheelZoomTool
    from bokeh.plotting import figure

    settings: dict[str, Any] = {"y_range": chart.y_range} if chart.y_range else {}
    made = figure(
        height=chart.height,
        sizing_mode="stretch_width",
        tools=[PanTool(), WheelZoomTool(modifiers="ctrl"), BoxZoomTool(), ResetTool()],
        x_axis_label=chart.x_label,
        y_axis_label=chart.y_label,
        x_axis_type="log" if chart.x_log else "linear",
        y_axis_type="log" if chart.y_log else "linear",
        **settings,
    )
    made.background_fill_color = made.border_fill_color = None  # the page's own colour shows through
    made.toolbar.logo = None
    made.toolbar.autohide = True
    hovered = [dots for one in chart.series if (dots := _series(made, one)) is not None]
    if hovered:
        made.add_tools(HoverTool(renderers=hovered, tooltips=[("", "@said")]))
    _axes(made, chart)
    return made


def _series(made: Any, one: Series) -> Any:
    """Adds a series; returns what can be hovered over, if anything can."""
    if not len(one.x):
        return None
    colour = one.colour or _INK
    legend = {"legend_label": one.label} if one.label else {}
    if one.dash:
        line = made.line(list(one.x), list(one.y), line_dash=one.dash, line_width=2, line_color=colour, **legend)
        if not one.colour:
            line.name = "ink"
    dots = _dots(made, one, colour, legend) if one.marker else None
    if len(one.low):
        ends = made.segment(list(one.x), list(one.low), list(one.x), list(one.high), line_color=_INK, line_width=1.5)
        ends.name = "ink"
    return dots if len(one.said) else None


def _dots(made: Any, one: Series, colour: str, legend: dict[str, str]) -> Any:
    from bokeh.models import ColumnDataSource

    source = ColumnDataSource(
        {
            "x": list(one.x),
            "y": list(one.y),
            "size": list(one.sizes) if len(one.sizes) == len(one.x) else [one.sizes[0]] * len(one.x),
            "said": list(one.said) if len(one.said) else [""] * len(one.x),
        }
    )
    return made.scatter(
        "x",
        "y",
        size="size",
        source=source,
        marker=one.marker,
        line_color=colour,
        line_width=1.6 if one.hollow else 0.6,
        fill_color=None if one.hollow else colour,
        fill_alpha=_FAINT if one.faint else 0.75,
        line_alpha=_FAINT if one.faint else 1.0,
        **legend,
    )


def _axes(made: Any, chart: Chart) -> None:
    from bokeh.models import FixedTicker

    if chart.ticks:
        made.xaxis.ticker = FixedTicker(ticks=[at for at, _ in chart.ticks])
        made.xaxis.major_label_overrides = dict(chart.ticks)
        made.xgrid.ticker = made.xaxis[0].ticker
    if chart.notes:
        texts = made.text(
            [note.x for note in chart.notes],
            [note.y for note in chart.notes],
            text=[note.text for note in chart.notes],
            text_align="center",
            text_font_size="11px",
        )
        texts.name = "ink"
    if not made.legend:
        return
    if chart.legend in ("right", "below"):
        made.add_layout(made.legend[0], chart.legend)
        made.legend.ncols = _COLUMNS if chart.legend == "below" else 1
    elif chart.legend:
        made.legend.location = chart.legend
    else:
        made.legend.visible = False
    made.legend.label_text_font_size = "11px"
    made.legend.click_policy = "hide"
