// A picture of the idea: elements flow by, a window holds some of them, and each window gives an answer.
import { s } from "./dom";

const DOTS = 16;
const STEP = 30;
const HEIGHTS = [34, 52, 44, 66, 58, 78];

export function hero(): SVGElement {
  const dots = Array.from({ length: DOTS }, (_, at) => s("circle", { cx: at * STEP - 2 * STEP, cy: 62 + ((at * 7) % 5) * 4 - 8, r: 4 + ((at * 5) % 3), class: `series-${(at % 3) + 1}` }));
  const bars = HEIGHTS.map((height, at) => s("rect", { x: 250 + at * 22, y: 196 - height, width: 14, height, rx: 3 }));
  return s(
    "svg",
    { viewBox: "0 0 420 210", class: "idea", "aria-hidden": "true" },
    s("defs", {}, s("clipPath", { id: "idea-river" }, s("rect", { x: 0, y: 26, width: 420, height: 74, rx: 12 }))),
    s("rect", { class: "river", x: 0, y: 26, width: 420, height: 74, rx: 12 }),
    s("g", { "clip-path": "url(#idea-river)" }, s("g", { class: "drift" }, dots)),
    s("rect", { class: "window", x: 150, y: 14, width: 120, height: 98, rx: 12 }),
    s("path", { class: "leads", d: "M210 112v26c0 16 10 26 26 26" }),
    s("g", { class: "answers" }, bars),
  );
}
