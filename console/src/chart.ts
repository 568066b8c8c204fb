// Numbers over time, drawn by uPlot in the colours of the theme.
import uPlot from "uplot";
import { fill, h } from "./dom";
import { moment, number } from "./format";
import { alone, type Series } from "./results";
import { tone } from "./settings";

export const MOST_LINES = 8;

export class Chart {
  readonly element: HTMLElement;
  private readonly box = h("div", { class: "chart-box", role: "img" });
  private readonly legend = h("ul", { class: "legend" });
  private plot: uPlot | null = null;
  private shape = "";
  private names: string[] = [];
  private readonly observer = new ResizeObserver(() => this.resize());
  private readonly retheme = () => {
    this.shape = "";
    if (this.last) this.show(...this.last);
  };
  private last: [number[], Series[], string, boolean] | null = null;

  constructor() {
    this.element = h("div", { class: "chart" }, this.box, this.legend);
    this.observer.observe(this.box);
    window.addEventListener("themechange", this.retheme);
  }

  /** Values lasting, they are drawn through the evaluations that do not tell them again. */
  show(times: number[], lines: Series[], what: string, lasting: boolean): void {
    this.last = [times, lines, what, lasting];
    const data: uPlot.AlignedData = [times.map((at) => at / 1000), ...lines.map((line) => line.values)];
    const whole = lines.every((line) => line.values.every((value) => value === null || Number.isInteger(value)));
    const shape = [whole, lasting, ...lines.map((line) => line.name)].join("\n");
    if (this.plot && shape === this.shape) this.plot.setData(data);
    else this.rebuild(data, lines, whole, lasting);
    this.shape = shape;
    this.names = lines.map((line) => line.name);
    this.label(times, lines, what);
  }

  destroy(): void {
    this.observer.disconnect();
    window.removeEventListener("themechange", this.retheme);
    this.plot?.destroy();
  }

  private rebuild(data: uPlot.AlignedData, lines: Series[], whole: boolean, lasting: boolean): void {
    this.plot?.destroy();
    const axis = { stroke: tone("--muted"), grid: { stroke: tone("--line"), width: 1 }, ticks: { show: false }, font: "12px 'IBM Plex Sans Variable', sans-serif" };
    this.plot = new uPlot(
      {
        width: this.width(),
        height: this.height(),
        legend: { show: false },
        cursor: { y: false, points: { size: 7 }, drag: { setScale: false } },
        padding: [12, 30, 0, 0],
        series: [
          {},
          ...lines.map((line, at) => ({
            label: line.name,
            stroke: tone(`--series-${at + 1}`),
            width: 2,
            spanGaps: lasting,
            points: { show: (plot: uPlot) => few(plot), filter: (plot: uPlot, which: number) => (few(plot) ? null : alone(plot.data[which] ?? [])), size: 5, fill: tone("--surface") },
          })),
        ],
        axes: [
          { ...axis, size: 34, space: 84, values: (_, ticks, __, ___, step) => ticks.map((tick) => clock(tick, step)) },
          { ...axis, size: 56, ...(whole ? { incrs: WHOLE } : {}), values: (_, ticks) => ticks.map((tick) => (tick === null ? "" : number(tick))) },
        ],
        scales: { y: { range: (_, low, high) => bounds(low, high) } },
        hooks: { setCursor: [(plot) => this.point(plot)] },
      },
      data,
      this.box,
    );
  }

  private width(): number {
    return Math.max(240, this.box.clientWidth);
  }

  private height(): number {
    return this.box.clientWidth < 520 ? 220 : 300;
  }

  private resize(): void {
    this.plot?.setSize({ width: this.width(), height: this.height() });
  }

  /** Values below the chart: the newest, or those under the pointer. */
  private point(plot: uPlot): void {
    const at = plot.cursor.idx;
    if (at === null || at === undefined) this.values(this.last?.[0].length ? this.last[0].length - 1 : 0);
    else this.values(at);
  }

  private values(at: number): void {
    const lines = this.last?.[1] ?? [];
    const spans = this.legend.querySelectorAll(".legend-value");
    lines.forEach((line, index) => {
      let value: number | null = null;
      for (let place = at; place >= 0 && value === null && place > at - 3; place -= 1) value = line.values[place] ?? null;
      const span = spans[index];
      if (span) span.textContent = value === null ? "–" : number(value);
    });
  }

  private label(times: number[], lines: Series[], what: string): void {
    const shownNames = [...this.legend.children].map((item) => item.querySelector(".legend-name")?.textContent);
    if (shownNames.join("\n") !== this.names.join("\n")) {
      fill(
        this.legend,
        this.names.map((name, at) =>
          h("li", {}, h("span", { class: `swatch series-${at + 1}`, "aria-hidden": "true" }), h("span", { class: "legend-name" }, name), h("span", { class: "legend-value" })),
        ),
      );
    }
    this.values(times.length - 1);
    const end = times.at(-1);
    this.box.setAttribute("aria-label", `${what}: ${lines.length} lines, ${times.length} points, the newest at ${moment(end ?? null)}. The values are in the table below.`);
  }
}

/** Steps between ticks where nothing is between whole numbers. */
const WHOLE = Array.from({ length: 16 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat();

/** Whether every point can be marked. */
const few = (plot: uPlot) => plot.data[0].length < 40;

/** A tick of the time axis: as much of the clock as the step between ticks needs. */
function clock(seconds: number, step: number): string {
  const at = moment(seconds * 1000);
  const [time = "", date] = at.split(" ").reverse();
  if (step >= 86_400) return date ?? "today";
  if (step < 1) return time;
  return step >= 60 ? time.slice(0, 5) : time.slice(0, 8);
}

/** A calm scale: from zero where that does not flatten everything, with some air. */
function bounds(low: number | null, high: number | null): [number, number] {
  if (low === null || high === null) return [0, 1];
  const from = low >= 0 && low < high * 0.75 ? 0 : low;
  const spread = high - from || Math.abs(high) || 1;
  return [from === 0 ? 0 : from - spread * 0.1, high + spread * 0.08];
}
