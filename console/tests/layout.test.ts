import assert from "node:assert/strict";
import test from "node:test";
import { arranged } from "../src/layout";

/** A graph without cycles, the same every time: each node is read by some node after it. */
function graph(seed: number): { nodes: { id: number; width: number; height: number }[]; edges: { source: number; target: number }[] } {
  let state = seed;
  const chance = (below: number) => (state = (state * 1103515245 + 12345) % 2147483648) % below;
  const size = 3 + chance(14);
  const nodes = Array.from({ length: size }, (_, id) => ({ id, width: 60 + chance(240), height: 30 + chance(60) }));
  const edges = nodes.slice(0, -1).map(({ id }) => ({ source: id, target: id + 1 + chance(size - id - 1) }));
  if (size > 4) edges.push({ source: 0, target: size - 1 });
  return { nodes, edges };
}

test("no two nodes touch, and all that is read lies below", () => {
  for (let seed = 1; seed <= 200; seed += 1) {
    const { nodes, edges } = graph(seed);
    const { centres, width, height, routes } = arranged(nodes, edges);
    const box = (id: number) => {
      const [x, y] = centres.get(id) as [number, number];
      const node = nodes[id] as { width: number; height: number };
      return { left: x - node.width / 2, right: x + node.width / 2, top: y - node.height / 2, bottom: y + node.height / 2 };
    };
    for (const { id } of nodes) {
      const one = box(id);
      assert.ok(one.left >= -0.01 && one.right <= width + 0.01 && one.top >= -0.01 && one.bottom <= height + 0.01, `seed ${seed}`);
      for (const other of nodes.filter((each) => each.id > id).map((each) => box(each.id)))
        assert.ok(one.right <= other.left || other.right <= one.left || one.bottom <= other.top || other.bottom <= one.top, `seed ${seed}`);
    }
    for (const { source, target, points } of routes) {
      assert.ok(box(source).top > box(target).bottom, `seed ${seed}`);
      assert.ok(points.length >= 2);
    }
  }
});
