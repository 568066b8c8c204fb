// The last windows as a row of bars: how many rows each gave, and which bounds it has.
import { fill, h, s, say } from "./dom";
import { duration, moment, plural } from "./format";
import type { Evaluation } from "./results";
import { lastPart } from "./terms";

const SHOWN = 60;
const HEIGHT = 40;
const STEP = 10;

export class WindowStrip {
  readonly element: HTMLElement;
  private readonly bars = s("svg", { class: "strip", viewBox: `0 0 ${SHOWN * STEP} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  private readonly words = h("p", { class: "window-words" });

  constructor() {
    this.element = h("div", { class: "windows" }, this.words, this.bars);
  }

  show(evaluations: readonly Evaluation[]): void {
    const last = evaluations.at(-1);
    if (!last) return;
    say(this.words, described(last));
    const shown = evaluations.slice(-SHOWN);
    const most = Math.max(1, ...shown.map((evaluation) => evaluation.rows.length));
    fill(
      this.bars,
      shown.map((evaluation, at) => {
        const x = (at + SHOWN - shown.length) * STEP;
        const tall = evaluation.rows.length ? Math.max(4, (evaluation.rows.length / most) * (HEIGHT - 4)) : 2;
        const kind = `${evaluation.rows.length ? "" : "none"} ${evaluation === last ? "last" : ""}`;
        return s("rect", { class: kind, x: x + 1, y: HEIGHT - tall, width: STEP - 2, height: tall, rx: 1.5 }, s("title", {}, described(evaluation)));
      }),
    );
  }
}

/** When a window was evaluated, what it holds, and how many rows came of it. */
export function described({ at, bounds, rows, remarks }: Evaluation): string {
  const spans = bounds.map(([name, open, close]) => {
    const which = bounds.length > 1 ? `${lastPart(name)}: ` : "";
    if (open === null || close === null) return `${which}until ${moment(close)}`;
    return `${which}${moment(open)} to ${moment(close)} (${duration(close - open)})`;
  });
  return [spans.join("; ") || moment(at), plural(rows.length, "row"), ...remarks].join(" · ");
}
