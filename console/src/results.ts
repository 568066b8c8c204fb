// What has come of a query: its windows and rows, the newest kept, and how they can be drawn.
import { coordinate, label, numeric, type Row, type Term } from "./terms";

/** One evaluation: when, over which windows, and what it gave. */
export interface Evaluation {
  at: number;
  bounds: [string, number | null, number | null][];
  rows: Row[];
  /** What else is to be said of it: that it failed, was skipped, is cut short or not exact. */
  remarks: string[];
}

export const KEPT_EVALUATIONS = 400;
export const KEPT_ROWS = 20_000;

/** The newest evaluations of a query, bounded by their number and by that of their rows. */
export class Results {
  variables: string[] = [];
  evaluations: Evaluation[] = [];
  rows = 0;
  seen = 0;

  add(evaluation: Evaluation): void {
    this.evaluations.push(evaluation);
    this.seen += 1;
    this.rows += evaluation.rows.length;
    while (this.evaluations.length > KEPT_EVALUATIONS || (this.rows > KEPT_ROWS && this.evaluations.length > 1)) {
      this.rows -= this.evaluations.shift()?.rows.length ?? 0;
    }
  }

  get last(): Evaluation | undefined {
    return this.evaluations.at(-1);
  }

  /** The newest rows first, at most so many. */
  newest(limit: number): [Evaluation, Row][] {
    const found: [Evaluation, Row][] = [];
    for (let at = this.evaluations.length - 1; at >= 0 && found.length < limit; at -= 1) {
      const evaluation = this.evaluations[at];
      if (evaluation) for (const row of evaluation.rows) if (found.length < limit) found.push([evaluation, row]);
    }
    return found;
  }

  private sample(): Row[] {
    return this.newest(200).map(([, row]) => row);
  }

  /** Variables by what their values are. */
  columns(): { numbers: string[]; keys: string[]; place: Place | null } {
    const sample = this.sample();
    const valued = (name: string) => sample.filter((row) => row[name]);
    const place = placeOf(this.variables, sample);
    const coordinates = place && "latitude" in place ? [place.latitude, place.longitude] : [];
    const numbers = this.variables.filter((name) => {
      const rows = valued(name);
      return !coordinates.includes(name) && rows.length > 0 && rows.every((row) => numeric(row[name]) !== null);
    });
    const keys = this.variables.filter((name) => {
      if (numbers.includes(name) || coordinates.includes(name) || (place && "point" in place && place.point === name)) return false;
      return valued(name).length > 0;
    });
    return { numbers, keys, place };
  }
}

export type Place = { latitude: string; longitude: string } | { point: string };

const POINT = /^\s*(?:<[^>]*>\s*)?POINT\s*\(\s*([+-]?[\d.]+)\s+([+-]?[\d.]+)\s*\)/i;

function placeOf(variables: string[], sample: Row[]): Place | null {
  const latitude = variables.find((name) => /^(?:.*_)?(?:lat|latitude)$/i.test(name));
  const longitude = variables.find((name) => /^(?:.*_)?(?:lon|long|lng|longitude)$/i.test(name));
  if (latitude && longitude && sample.some((row) => coordinate(row[latitude]) !== null && coordinate(row[longitude]) !== null))
    return { latitude, longitude };
  const point = variables.find((name) => sample.some((row) => wkt(row[name])));
  return point ? { point } : null;
}

function wkt(term: Term | undefined): [number, number] | null {
  const found = term && typeof term.value === "string" ? POINT.exec(term.value) : null;
  return found ? [Number(found[2]), Number(found[1])] : null;
}

/** Latitude and longitude of a row, if it has them. */
export function position(row: Row, place: Place): [number, number] | null {
  if ("point" in place) return wkt(row[place.point]);
  const latitude = coordinate(row[place.latitude]);
  const longitude = coordinate(row[place.longitude]);
  return latitude === null || longitude === null ? null : [latitude, longitude];
}

export interface Series {
  name: string;
  values: (number | null)[];
}

/** The order of lines and of places: by name, numbers in it by their size. */
export function byName(one: string, other: string): number {
  return one.localeCompare(other, "en", { numeric: true });
}

/** How many of the newest evaluations decide which lines are drawn. */
const RECENT = 12;

/** A variable over time, one line for each value of the key; those that have values now come first. */
export function series(results: Results, value: string, key: string | null, most: number): { times: number[]; lines: Series[]; left: number } {
  const lines = new Map<string, Map<number, number>>();
  const times = new Set<number>();
  for (const { at, rows } of results.evaluations) {
    times.add(at);
    for (const row of rows) {
      const number = numeric(row[value]);
      if (number === null) continue;
      const name = key ? label(row[key]) : value;
      let line = lines.get(name);
      if (!line) lines.set(name, (line = new Map()));
      line.set(at, number);
    }
  }
  const sorted = [...times].sort((one, other) => one - other);
  const recent = sorted.slice(-RECENT);
  const lately = new Map([...lines].map(([name, points]) => [name, recent.filter((at) => points.has(at)).length]));
  const ranked = [...lines].sort(
    ([one, some], [other, more]) => (lately.get(other) ?? 0) - (lately.get(one) ?? 0) || more.size - some.size || one.localeCompare(other),
  );
  const kept = ranked.slice(0, most).sort((one, other) => byName(one[0], other[0]));
  return {
    times: sorted,
    lines: kept.map(([name, points]) => ({ name, values: sorted.map((at) => points.get(at) ?? null) })),
    left: ranked.length - kept.length,
  };
}

/** The places of values that have none beside them, which no line would show. */
export function alone(values: ArrayLike<number | null | undefined>): number[] {
  const lacks = (at: number) => values[at] === null || values[at] === undefined;
  return Array.from({ length: values.length }, (_, at) => at).filter((at) => !lacks(at) && lacks(at - 1) && lacks(at + 1));
}
