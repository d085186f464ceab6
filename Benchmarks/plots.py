"""The plots of docs/design/benchmarks.md, small and the same for the same figures."""

import matplotlib

import run

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402, the backend is chosen first

# Colours that those who see few can tell apart.
COLOURS = ["#0072B2", "#999999", "#E69F00", "#009E73", "#56B4E9", "#D55E00", "#CC79A7", "#000000"]
RATIOS = ["ingest", "live_normal", "live_full", "cold", "warm", "spread", "scroll", "jump", "list",
          "deletes", "python_warm"]
GROWTH = ["ingest", "cold", "warm", "live_normal", "deletes"]


def _save(figure, path):
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    plt.close(figure)
    # The writer of these files leaves spaces at the ends of lines.
    path.write_text("\n".join(line.rstrip() for line in path.read_text().split("\n")))


def style():
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "tideline", "font.size": 9,
                         "axes.spines.top": False, "axes.spines.right": False})


def ratios(found, path):
    """How many times as long as plain SQLite each row takes: a dot for each."""
    style()
    figures = [figure for figure in RATIOS if figure in found["plain SQLite"]]
    drawing, axes = plt.subplots(figsize=(7.5, 4.2))
    for index, (name, row) in enumerate(found.items()):
        points = [(run.ratio(row[figure], found["plain SQLite"][figure]), -place)
                  for place, figure in enumerate(figures) if figure in row]
        axes.plot(*zip(*points, strict=True), "D" if name == "Tideline" else "o", label=name,
                  color=COLOURS[index % len(COLOURS)], markersize=6 if name == "Tideline" else 4)
    axes.set_xscale("log")
    axes.set_yticks([-place for place in range(len(figures))], figures)
    axes.axvline(1, color="#999999", linewidth=0.8)
    axes.grid(axis="x", linewidth=0.3)
    axes.set_xlabel("time, as a multiple of plain SQLite's (less is better)")
    axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    _save(drawing, path)


def growth(series, path):
    """Times of Tideline and plain SQLite by the number of messages in one conversation."""
    style()
    drawing, axes = plt.subplots(figsize=(6, 3.6))
    for index, figure in enumerate(GROWTH):
        for name, line in (("Tideline", "-"), ("plain SQLite", ":")):
            values = series[name].get(figure, {})
            axes.plot([int(count) for count in values], [value / 1000 for value in values.values()],
                      line, marker=".", color=COLOURS[index],
                      label=figure if name == "Tideline" else None)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.grid(linewidth=0.3)
    axes.set_xlabel("messages in one conversation")
    axes.set_ylabel("µs of one (dotted: plain SQLite)")
    axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    _save(drawing, path)
