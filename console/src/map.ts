// Places on a plain graticule: no tiles, nothing that is fetched.
import { fill, h, s } from "./dom";

export interface Spot {
  latitude: number;
  longitude: number;
  name: string;
  detail: string;
  /** A number to show beside the name. */
  value: string;
  /** How old, from 0 (of the newest window) to 1 (about to vanish). */
  age: number;
  group: number;
}

const EDGE = 44;
const NARROW = 520;
const STEPS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30];

interface Size {
  width: number;
  height: number;
}

interface Frame {
  west: number;
  east: number;
  south: number;
  north: number;
}

/** Where spots lie, widened so that nothing is at the edge, in the shape of the picture. */
function frame(spots: readonly Spot[], { width, height }: Size): Frame {
  let west = Math.min(...spots.map((spot) => spot.longitude));
  let east = Math.max(...spots.map((spot) => spot.longitude));
  let south = Math.min(...spots.map((spot) => spot.latitude));
  let north = Math.max(...spots.map((spot) => spot.latitude));
  const middle = (south + north) / 2;
  const narrow = Math.max(0.05, Math.cos((middle * Math.PI) / 180));
  const least = 0.002;
  let wide = Math.max((east - west) * 1.15, least / narrow);
  let tall = Math.max((north - south) * 1.25, least);
  const wanted = (width - 2 * EDGE) / (height - 2 * EDGE) / narrow;
  if (wide / tall < wanted) wide = tall * wanted;
  else tall = wide / wanted;
  const centre = (west + east) / 2;
  west = centre - wide / 2;
  east = centre + wide / 2;
  south = middle - tall / 2;
  north = middle + tall / 2;
  return { west, east, south, north };
}

function degrees(value: number, [positive, negative]: [string, string], step: number): string {
  const digits = step < 1 ? Math.min(4, Math.ceil(-Math.log10(step))) : 0;
  const size = Math.abs(value).toFixed(digits);
  return `${size}°${Number(size) === 0 ? "" : value > 0 ? positive : negative}`;
}

export class Chartlet {
  readonly element: HTMLElement;
  private readonly picture = s("svg", { class: "map", role: "img" });
  private kept: Frame | null = null;
  private size: Size = { width: 0, height: 0 };

  constructor() {
    this.element = h("div", { class: "map-box" }, this.picture);
  }

  show(spots: readonly Spot[], what: string): void {
    const drawn = spots.filter((spot) => Math.abs(spot.latitude) <= 90 && Math.abs(spot.longitude) <= 360);
    if (!drawn.length) return;
    this.measure();
    this.kept = this.fitting(drawn);
    const { west, east, south, north } = this.kept;
    const { width, height } = this.size;
    const x = (longitude: number) => EDGE + ((longitude - west) / (east - west)) * (width - 2 * EDGE);
    const y = (latitude: number) => height - EDGE + ((south - latitude) / (north - south)) * (height - 2 * EDGE);
    fill(this.picture, s("title", {}, what), graticule(this.kept, this.size, x, y), trails(drawn, x, y), drawn.map((spot) => dot(spot, x(spot.longitude), y(spot.latitude), width)));
  }

  /** Drawn as large as it is shown, so that words keep their size. */
  private measure(): void {
    const width = Math.max(280, this.element.clientWidth || 800);
    if (width === this.size.width) return;
    this.size = { width, height: width < NARROW ? 300 : 440 };
    this.kept = null;
    this.picture.setAttribute("viewBox", `0 0 ${width} ${this.size.height}`);
  }

  /** The frame is kept while all spots are in it, so that the map does not swim. */
  private fitting(spots: readonly Spot[]): Frame {
    const fits = frame(spots, this.size);
    const kept = this.kept;
    if (!kept) return fits;
    const inside = spots.every(
      ({ latitude, longitude }) => longitude >= kept.west && longitude <= kept.east && latitude >= kept.south && latitude <= kept.north,
    );
    return inside && fits.east - fits.west > (kept.east - kept.west) * 0.4 ? kept : fits;
  }
}

function graticule({ west, east, south, north }: Frame, { width, height }: Size, x: (longitude: number) => number, y: (latitude: number) => number): SVGElement {
  const wanted = (east - west) / (width < NARROW ? 3 : 6);
  const step = STEPS.find((each) => each >= wanted) ?? 45;
  const upwards = STEPS.find((each) => each >= (north - south) / 4) ?? 45;
  const lines = s("g", { class: "graticule" });
  for (let at = Math.ceil(west / step) * step; at <= east; at += step) {
    lines.append(
      s("line", { x1: x(at), x2: x(at), y1: EDGE / 2, y2: height - EDGE / 2 }),
      s("text", { x: x(at), y: height - 6, "text-anchor": "middle" }, degrees(at, ["E", "W"], step)),
    );
  }
  for (let at = Math.ceil(south / upwards) * upwards; at <= north; at += upwards) {
    lines.append(
      s("line", { x1: EDGE / 2, x2: width - EDGE / 2, y1: y(at), y2: y(at) }),
      s("text", { x: 6, y: y(at) - 5 }, degrees(at, ["N", "S"], upwards)),
    );
  }
  return lines;
}

/** Where things have been, as lines to where they are. */
function trails(spots: readonly Spot[], x: (longitude: number) => number, y: (latitude: number) => number): SVGElement[] {
  const paths = new Map<string, Spot[]>();
  for (const spot of spots) if (spot.name) paths.set(spot.name, [...(paths.get(spot.name) ?? []), spot]);
  const moved = [...paths.values()].filter((path) => new Set(path.map((spot) => spot.age)).size === path.length && path.length > 1);
  return moved.map((path) =>
    s("polyline", { class: `trail series-${((path[0]?.group ?? 0) % 8) + 1}`, points: path.map((spot) => `${x(spot.longitude).toFixed(1)},${y(spot.latitude).toFixed(1)}`).join(" ") }),
  );
}

function dot(spot: Spot, x: number, y: number, width: number): SVGElement {
  const fresh = spot.age === 0;
  // Words go where there is room for them.
  const beside = x > width * 0.6 ? { x: -16, y: 4, "text-anchor": "end" } : { x: 16, y: 4 };
  return s(
    "g",
    { class: `spot series-${(spot.group % 8) + 1}`, transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`, opacity: (1 - spot.age * 0.85).toFixed(2) },
    s("title", {}, `${spot.name}${spot.detail ? `: ${spot.detail}` : ""}`),
    fresh ? s("circle", { r: 13, class: "halo" }) : null,
    s("circle", { r: fresh ? 6 : 4 }),
    fresh ? s("text", beside, [spot.name.length > 22 ? `${spot.name.slice(0, 21)}…` : spot.name, spot.value].filter(Boolean).join("  ")) : null,
  );
}
