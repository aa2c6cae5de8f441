# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Draws the plots of a report as SVG, legible in black and white: lines differ in their style and marker, bars in their
hatches. Plots are narrow, with one panel below another, so that their text can be read on a phone. The same data gives
the same file."""
import io
import os
import re

from report import model, page

WIDTH, HEIGHT = 5.2, 3.7  # The size of a panel, in inches.
STYLES = [("-", "o"), ("--", "s"), (":", "^"), ("-.", "D"), ("-", "x"), ("--", "v"), (":", "P"), ("-.", "*"),
          ("-", "<"), ("--", ">")]
COLOURS = ["#000000", "#0b5fa5", "#a33c00", "#3d7a00", "#7a2d8f", "#8a6d00", "#00706b", "#a3004f", "#4a4a4a", "#555599"]
HATCHES = ["", "////", "....", "xxxx"]
FILLS = ["#4a4a4a", "#d9d9d9", "#f5f5f5", "#a0a0a0"]
QUANTILES = {0.5: "p50", 0.9: "p90", 0.99: "p99", 0.999: "p99.9", 0.9999: "p99.99", 0.999999: "max"}


def pyplot():
    """Raises ImportError without matplotlib."""
    import matplotlib
    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "memory_pool", "font.size": 10,
                                "font.family": ["DejaVu Sans", "sans-serif"], "axes.facecolor": "white",
                                "figure.facecolor": "white", "savefig.facecolor": "white"})
    from matplotlib import pyplot as drawing
    return drawing


def points_of(table, column):
    points = [(row["x"], model.value_of(table, row, column)) for row in table["rows"] if row["x"] is not None]
    return sorted((x, y) for x, y in points if y is not None)


def style_of(place):
    line, marker = STYLES[place % len(STYLES)]
    return {"linestyle": line, "marker": marker, "color": COLOURS[place % len(COLOURS)], "linewidth": 1.3,
            "markersize": 5, "markerfacecolor": "none" if place % 2 else COLOURS[place % len(COLOURS)]}


def drawn_value(table, value):
    """Clamps the value to the resolution of the clock."""
    return max(value, table["floor"] or value)


def set_scales(axes, plot, table):
    if plot.get("x_scale") == "quantiles":
        axes.set_xticks(range(len(QUANTILES)), QUANTILES.values())
    else:
        axes.set_xscale("log")
    values = [drawn_value(table, value) for row in table["rows"] for value in model.values_of(table, row).values()]
    axes.set_yscale("log" if min(values) > 0 else "symlog")


def place_of(plot, x):
    return list(QUANTILES).index(x) if plot.get("x_scale") == "quantiles" else x


def draw_panel(axes, plot, table, title, columns):
    for place, column in enumerate(columns):
        points = [(place_of(plot, x), drawn_value(table, y)) for x, y in points_of(table, column)]
        if points:
            axes.plot(*zip(*points), label=column, **style_of(place))
    set_scales(axes, plot, table)
    axes.set(xlabel=plot["x_title"], ylabel=table["unit"], title=title)
    axes.minorticks_off()
    axes.grid(alpha=0.4)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=9, ncol=2, loc="upper center", bbox_to_anchor=(0.5, -0.2), frameon=False)


def draw_lines(drawing, plot, tables):
    """Returns the figure, or None if there is nothing to draw."""
    table = tables.get(plot["table"])
    panels = [(title, columns) for title, columns in plot["panels"]
              if table and any(points_of(table, column) for column in columns)]
    if not panels:
        return None
    figure, all_axes = drawing.subplots(len(panels), 1, figsize=(WIDTH, (HEIGHT + 1) * len(panels)), squeeze=False,
                                        sharey=True, layout="constrained")
    for axes, (title, columns) in zip(all_axes[:, 0], panels):
        draw_panel(axes, plot, table, title, columns)
    return figure


def bar_values(tables, name, label):
    """Returns {column: value} of a row, or of the geometric means over all rows."""
    table = tables.get(name)
    if table is None:
        return {}
    if label == page.MEAN:
        return model.means_of_all_rows(table)
    row = model.row_of(table, label)
    return model.values_of(table, row) if row else {}


def draw_bars(drawing, plot, tables):
    """Returns the figure, or None if there is nothing to draw."""
    series = [(title, bar_values(tables, name, label)) for title, name, label in plot["series"]]
    columns = list(dict.fromkeys(column for _, values in series for column in values))
    if not columns:
        return None
    thickness = 0.8 / len(series)
    figure, axes = drawing.subplots(figsize=(WIDTH, 1.4 + 0.24 * len(columns) * len(series)), layout="constrained")
    for place, (title, values) in enumerate(series):
        there = [(i, values[column]) for i, column in enumerate(columns) if column in values]
        bars = axes.barh([i + place * thickness for i, _ in there], [value for _, value in there], thickness,
                         label=title, color=FILLS[place], hatch=HATCHES[place], edgecolor="black", linewidth=0.8)
        axes.bar_label(bars, [page.number(value) for _, value in there], padding=3, fontsize=9)
    axes.set_yticks([i + (len(series) - 1) * thickness / 2 for i in range(len(columns))], columns)
    axes.invert_yaxis()
    axes.margins(x=0.18)
    axes.set(xlabel=plot["unit"])
    axes.legend(fontsize=9, ncol=len(series), loc="lower center", bbox_to_anchor=(0.5, 1), frameon=False)
    return figure


def save(figure, path):
    """Writes the figure without the parts that a browser does not need."""
    written = io.StringIO()
    figure.savefig(written, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", written.getvalue(), flags=re.DOTALL)
    text = re.sub(r"(\d\.\d\d)\d+", r"\1", text) # Hundredths of a point are enough.
    with open(path, "w", encoding="utf-8") as out:
        out.writelines(f"{line.strip()}\n" for line in text.splitlines() if line.strip())


def title_of(plot, tables):
    name = page.last_table_of(plot)
    return tables[name]["title"] if name in tables else plot["name"]


def drawn(report, directory):
    """Returns the result of the `draw` call that wrote the plots of the report to that directory."""
    tables = model.tables_of(report)
    all_plots = [plot for section in report["sections"] for plot in section["plots"]]
    return {plot["name"]: (f"{plot['name']}.svg", title_of(plot, tables)) for plot in all_plots
            if os.path.exists(os.path.join(directory, f"{plot['name']}.svg"))}


def draw(report, directory, is_reduced=False):
    """Writes the plots that have data. Returns {name: (file, title)}. Raises ImportError without matplotlib."""
    drawing = pyplot()
    tables = model.tables_of(report)
    pictures = {}
    for plot in (plot for section in report["sections"] for plot in section["plots"]):
        if is_reduced and not plot["is_reduced"]:
            continue
        figure = (draw_bars if plot["kind"] == "bars" else draw_lines)(drawing, plot, tables)
        if figure is None:
            continue
        file = f"{plot['name']}.svg"
        save(figure, os.path.join(directory, file))
        drawing.close(figure)
        pictures[plot["name"]] = file, title_of(plot, tables)
    return pictures
