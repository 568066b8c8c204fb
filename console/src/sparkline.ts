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
    // One burst must not flatten all the rest: it goes through the roof.
    const usual = [...shown].sort((one, other) => one - other)[Math.floor(shown.length * 0.9)] ?? 1;
    const top = Math.max(1, Math.min(Math.max(...shown), 2 * usual || Infinity));
    const across = (at: number) => ((at + MOST - shown.length) / (MOST - 1)) * WIDTH;
    const points = shown.map((value, at) => `${across(at).toFixed(1)},${(HEIGHT - 3 - Math.min(1, value / top) * (HEIGHT - 8)).toFixed(1)}`);
    fill(
      this.element,
      s("polygon", { points: `${across(0).toFixed(1)},${HEIGHT} ${points.join(" ")} ${WIDTH},${HEIGHT}` }),
      s("polyline", { points: points.join(" ") }),
    );
  }
}
