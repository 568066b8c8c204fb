// The operators of a query as a drawing, with what flows through them now.
import { fill, h, s } from "./dom";
import { count } from "./format";
import { arranged } from "./layout";
import type { Plan } from "./api";

const LINE = 18;
const PAD = 12;
const WIDEST = 56;

const KINDS: Record<string, string> = {
  stream: "stream",
  window: "stream",
  "static graph": "static",
  service: "service",
  result: "result",
};

const clipped = (text: string) => (text.length > WIDEST ? `${text.slice(0, WIDEST - 1)}…` : text);

let pen: CanvasRenderingContext2D | null = null;
function wide(text: string, font: string): number {
  pen ??= document.createElement("canvas").getContext("2d");
  if (!pen) return text.length * 8;
  pen.font = font;
  return pen.measureText(text).width;
}

export class PlanDrawing {
  readonly element = h("div", { class: "plan-box", tabindex: 0, role: "group", "aria-label": "Operators of the query, drawn; scroll with the arrow keys" });
  private shape = "";
  private readonly figures = new Map<number, SVGTextElement>();

  show(plan: Plan): void {
    const graph = plan.graph;
    if (!graph) return;
    const shape = JSON.stringify([graph.nodes.map(({ title, details }) => [title, details]), graph.edges]);
    if (shape !== this.shape) this.draw(graph);
    this.shape = shape;
    for (const node of graph.nodes) {
      const rows = node.rows ?? null;
      const figure = this.figures.get(node.id);
      if (figure) this.put(figure, rows);
    }
  }

  private put(figure: SVGTextElement, rows: number | null): void {
    const words = rows === null ? "" : count(rows);
    if (figure.textContent === words) return;
    figure.textContent = words;
    figure.parentElement?.classList.toggle("known", rows !== null);
  }

  private draw(graph: NonNullable<Plan["graph"]>): void {
    const sans = "600 13px 'IBM Plex Sans Variable', sans-serif";
    const mono = "400 12.5px 'IBM Plex Mono', monospace";
    const texts = new Map(graph.nodes.map((node) => [node.id, node.details.map(clipped)]));
    const sized = graph.nodes.map((node) => {
      const lines = texts.get(node.id) ?? [];
      const width = Math.max(wide(node.title, sans) + 64, ...lines.map((line) => wide(line, mono)), 96) + 2 * PAD;
      return { id: node.id, width, height: (lines.length + 1) * LINE + 2 * PAD - 4 };
    });
    const laid = arranged(sized, graph.edges);
    const picture = s("svg", {
      class: "plan",
      viewBox: `-4 -4 ${(laid.width + 8).toFixed(0)} ${(laid.height + 8).toFixed(0)}`,
      width: (laid.width + 8).toFixed(0),
      height: (laid.height + 8).toFixed(0),
      role: "img",
      "aria-label": "The operators of the query, from its sources at the bottom to its result at the top. The same follows as a list.",
    });
    laid.routes.forEach(({ points }, at) => picture.append(edge(points, graph.edges[at]?.label ?? "")));
    this.figures.clear();
    for (const node of graph.nodes) {
      const size = sized.find((each) => each.id === node.id) as { width: number; height: number };
      const [x, y] = laid.centres.get(node.id) as [number, number];
      picture.append(this.box(node, texts.get(node.id) ?? [], x - size.width / 2, y - size.height / 2, size.width, size.height));
    }
    fill(this.element, picture);
  }

  private box(node: NonNullable<Plan["graph"]>["nodes"][number], lines: string[], x: number, y: number, width: number, height: number): SVGElement {
    const figure = s("text", { class: "figure", x: width - PAD, y: PAD + 9, "text-anchor": "end" });
    this.figures.set(node.id, figure);
    return s(
      "g",
      { class: `node ${KINDS[node.kind] ?? "plain"}`, transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})` },
      s("title", {}, [node.title, ...node.details].join("\n")),
      s("rect", { width, height, rx: 9 }),
      s("text", { class: "node-title", x: PAD, y: PAD + 9 }, node.title),
      lines.map((line, at) => s("text", { class: "node-detail", x: PAD, y: PAD + 9 + (at + 1) * LINE }, line)),
      figure,
    );
  }
}

function edge(points: [number, number][], label: string): SVGElement {
  const [first, ...rest] = points;
  if (!first) return s("g");
  let path = `M${first[0].toFixed(1)} ${first[1].toFixed(1)}`;
  let [x, y] = first;
  for (const [nextX, nextY] of rest) {
    const middle = (y + nextY) / 2;
    path += ` C${x.toFixed(1)} ${middle.toFixed(1)} ${nextX.toFixed(1)} ${middle.toFixed(1)} ${nextX.toFixed(1)} ${nextY.toFixed(1)}`;
    [x, y] = [nextX, nextY];
  }
  const second = rest[0] ?? first;
  return s(
    "g",
    { class: "edge" },
    s("path", { d: path }),
    s("path", { d: path, class: "flow" }),
    label ? s("text", { x: ((first[0] + second[0]) / 2 + 8).toFixed(1), y: ((first[1] + second[1]) / 2 + 4).toFixed(1) }, label) : null,
  );
}

/** The same graph as nested lists, for those who do not see it. */
export function outline(plan: Plan): HTMLElement {
  const graph = plan.graph;
  if (!graph) return h("div");
  const nodes = new Map(graph.nodes.map((node) => [node.id, node]));
  const told = new Set<number>();
  const item = (id: number): HTMLElement => {
    const node = nodes.get(id);
    const again = told.has(id);
    told.add(id);
    const inputs = again ? [] : graph.edges.filter((each) => each.target === id).map((each) => each.source);
    return h(
      "li",
      {},
      h("strong", {}, node?.title ?? ""),
      node?.details.length ? `: ${node.details.join("; ")}` : "",
      again ? " (as above)" : "",
      inputs.length ? h("ul", {}, inputs.map(item)) : null,
    );
  };
  const read = new Set(graph.edges.map((each) => each.source));
  return h("ul", { class: "outline" }, graph.nodes.filter((node) => !read.has(node.id)).map((node) => item(node.id)));
}
