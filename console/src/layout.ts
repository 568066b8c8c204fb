// Where the nodes of a graph go: in layers, inputs below, so that lines cross little and no node.

export interface Sized {
  id: number;
  width: number;
  height: number;
}

export interface Laid {
  width: number;
  height: number;
  centres: Map<number, [number, number]>;
  routes: { source: number; target: number; points: [number, number][] }[];
}

interface Slot {
  key: string;
  width: number;
  height: number;
  x: number;
  above: Slot[];
  below: Slot[];
}

const GAP = 28;
const BETWEEN = 38;
const SWEEPS = 8;

/** The layer of each node: 0 for what nothing reads, and each input below all that read it. */
function depths(ids: number[], edges: { source: number; target: number }[]): Map<number, number> {
  const readers = new Map<number, number[]>(ids.map((id) => [id, []]));
  for (const { source, target } of edges) readers.get(source)?.push(target);
  const found = new Map<number, number>();
  const visiting = new Set<number>();
  const depth = (id: number): number => {
    const known = found.get(id);
    if (known !== undefined) return known;
    if (visiting.has(id)) return 0;
    visiting.add(id);
    const value = Math.max(-1, ...(readers.get(id) ?? []).map(depth)) + 1;
    found.set(id, value);
    return value;
  };
  ids.forEach(depth);
  return found;
}

/** Lay a graph out, results at the top. */
export function arranged(nodes: readonly Sized[], edges: readonly { source: number; target: number }[]): Laid {
  const depth = depths(nodes.map((node) => node.id), [...edges]);
  const layers: Slot[][] = [];
  const slots = new Map<number, Slot>();
  const place = (slot: Slot, layer: number) => (layers[layer] ??= []).push(slot);
  for (const node of nodes) {
    const slot: Slot = { key: String(node.id), width: node.width, height: node.height, x: 0, above: [], below: [] };
    slots.set(node.id, slot);
    place(slot, depth.get(node.id) ?? 0);
  }
  const chains = edges.map(({ source, target }) => chain(slots.get(source), slots.get(target), depth.get(source) ?? 0, depth.get(target) ?? 0, place));
  for (let layer = 0; layer < layers.length; layer += 1) layers[layer] ??= [];
  order(layers);
  spread(layers);
  return measured(nodes, edges, layers, slots, chains);
}

/** The slots that a line passes, from its source up to its target. */
function chain(source: Slot | undefined, target: Slot | undefined, from: number, to: number, place: (slot: Slot, layer: number) => void): Slot[] {
  if (!source || !target) return [];
  const passed = [source];
  for (let layer = from - 1; layer > to; layer -= 1) {
    const waypoint: Slot = { key: "", width: 8, height: 0, x: 0, above: [], below: [] };
    place(waypoint, layer);
    passed.push(waypoint);
  }
  passed.push(target);
  for (let at = 1; at < passed.length; at += 1) {
    passed[at - 1]?.above.push(passed[at] as Slot);
    passed[at]?.below.push(passed[at - 1] as Slot);
  }
  return passed;
}

function order(layers: Slot[][]): void {
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const down = sweep % 2 === 0;
    const sequence = down ? layers : [...layers].reverse();
    for (const layer of sequence) {
      const places = new Map<Slot, number>();
      layers.forEach((each) => each.forEach((slot, at) => places.set(slot, at)));
      const weight = (slot: Slot) => {
        const near = down ? slot.above : slot.below;
        return near.length ? near.reduce((sum, each) => sum + (places.get(each) ?? 0), 0) / near.length : (places.get(slot) ?? 0);
      };
      const weights = new Map(layer.map((slot) => [slot, weight(slot)]));
      layer.sort((one, other) => (weights.get(one) ?? 0) - (weights.get(other) ?? 0));
    }
  }
}

const apart = (one: Slot, other: Slot) => (one.width + other.width) / 2 + GAP;

/** Give each slot an x near its neighbours', without letting two of a layer touch. */
function spread(layers: Slot[][]): void {
  for (const layer of layers) layer.forEach((slot, at) => (slot.x = at ? (layer[at - 1] as Slot).x + apart(layer[at - 1] as Slot, slot) : 0));
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) for (const layer of layers) settle(layer, layer.map((slot) => middle(slot, slot.above)));
  // What reads one thing stands straight above it, and what reads several in their middle.
  for (const layer of [...layers].reverse()) settle(layer, layer.map((slot) => middle(slot, slot.below)));
}

const middle = (slot: Slot, near: Slot[]) => (near.length ? near.reduce((sum, each) => sum + each.x, 0) / near.length : slot.x);

/** The nearest places to the wanted ones that keep the order: neighbours that meet move together. */
function settle(layer: Slot[], wanted: number[]): void {
  interface Block {
    slots: Slot[];
    offsets: number[];
    sum: number;
  }
  const blocks: Block[] = [];
  const start = (block: Block) => block.sum / block.slots.length;
  layer.forEach((slot, at) => {
    let block: Block = { slots: [slot], offsets: [0], sum: wanted[at] ?? 0 };
    for (let before = blocks.at(-1); before; before = blocks.at(-1)) {
      const step = (before.offsets.at(-1) ?? 0) + apart(before.slots.at(-1) as Slot, block.slots[0] as Slot);
      if (start(before) + step <= start(block)) break;
      blocks.pop();
      block = {
        slots: [...before.slots, ...block.slots],
        offsets: [...before.offsets, ...block.offsets.map((offset) => offset + step)],
        sum: before.sum + block.sum - step * block.slots.length,
      };
    }
    blocks.push(block);
  });
  for (const block of blocks) block.slots.forEach((slot, at) => (slot.x = start(block) + (block.offsets[at] ?? 0)));
}

function measured(nodes: readonly Sized[], edges: readonly { source: number; target: number }[], layers: Slot[][], slots: Map<number, Slot>, chains: Slot[][]): Laid {
  const left = Math.min(...layers.flat().map((slot) => slot.x - slot.width / 2));
  const right = Math.max(...layers.flat().map((slot) => slot.x + slot.width / 2));
  const centre = new Map<Slot, number>();
  let y = 0;
  for (const layer of layers) {
    const tall = Math.max(0, ...layer.map((slot) => slot.height));
    for (const slot of layer) centre.set(slot, y + tall / 2);
    y += tall + BETWEEN;
  }
  const at = (slot: Slot): [number, number] => [slot.x - left, centre.get(slot) ?? 0];
  const routes = edges.map(({ source, target }, number) => {
    const passed = chains[number] ?? [];
    const points = passed.map(at);
    const [first, last] = [passed[0], passed.at(-1)];
    if (first && last && points.length > 1) {
      points[0] = [at(first)[0], at(first)[1] - first.height / 2];
      points[points.length - 1] = [at(last)[0], at(last)[1] + last.height / 2];
    }
    return { source, target, points };
  });
  return {
    width: right - left,
    height: y - BETWEEN,
    centres: new Map(nodes.map((node) => [node.id, at(slots.get(node.id) as Slot)])),
    routes,
  };
}
