// A small line of the last minute.
import { fill, s } from "./dom";

const WIDTH = 160;
const HEIGHT = 36;
const MOST = 60;

export class Sparkline {
  readonly element = s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "sparkline", "aria-hidden": "true", preserveAspectRatio: "none" });

  /** Draw values, the newest last. */
  draw(values: readonly number[]): void {
    const shown = values.slice(-MOST);
    if (!shown.length) return;
    const top = Math.max(1, ...shown);
    const across = (at: number) => ((at + MOST - shown.length) / (MOST - 1)) * WIDTH;
    const points = shown.map((value, at) => `${across(at).toFixed(1)},${(HEIGHT - 3 - (value / top) * (HEIGHT - 8)).toFixed(1)}`);
    fill(
      this.element,
      s("polygon", { points: `${across(0).toFixed(1)},${HEIGHT} ${points.join(" ")} ${WIDTH},${HEIGHT}` }),
      s("polyline", { points: points.join(" ") }),
    );
  }
}
