// How numbers, times and sizes are written for people.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const some = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export function count(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  return Math.abs(value) < 1e6 ? whole.format(value) : short.format(value);
}

export function number(value: number): string {
  return Math.abs(value) >= 1e7 || (value !== 0 && Math.abs(value) < 1e-4) ? value.toExponential(3) : some.format(value);
}

const six = new Intl.NumberFormat("en", { maximumSignificantDigits: 6, useGrouping: false });

/** A number that is not exact anyway, without the digits that say nothing. */
export function rounded(value: number): string {
  return value !== 0 && (Math.abs(value) >= 1e9 || Math.abs(value) < 1e-4) ? value.toExponential(5) : six.format(value);
}

export function rate(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  return `${value < 10 ? value.toFixed(1) : whole.format(value)}/s`;
}

export function bytes(value: number): string {
  const units = ["B", "kB", "MB", "GB"];
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value < 10 && unit ? value.toFixed(1) : whole.format(value)} ${units[unit]}`;
}

export function duration(milliseconds: number | null | undefined): string {
  if (milliseconds === null || milliseconds === undefined || !Number.isFinite(milliseconds)) return "–";
  const size = Math.abs(milliseconds);
  const sign = milliseconds < 0 ? "-" : "";
  if (size < 1000) return `${sign}${whole.format(size)} ms`;
  if (size < 60_000) return `${sign}${(size / 1000).toFixed(size < 10_000 ? 1 : 0)} s`;
  if (size < 3_600_000) {
    const seconds = Math.round((size % 60_000) / 1000);
    return `${sign}${Math.floor(size / 60_000)} min${seconds ? ` ${seconds} s` : ""}`;
  }
  if (size < 172_800_000) return `${sign}${(size / 3_600_000).toFixed(1)} h`;
  return `${sign}${Math.round(size / 86_400_000)} days`;
}

const two = (value: number) => String(value).padStart(2, "0");

/** A moment as a clock shows it, with the date where it is not today's. */
export function moment(milliseconds: number | null | undefined, now = Date.now()): string {
  if (milliseconds === null || milliseconds === undefined || !Number.isFinite(milliseconds)) return "–";
  const at = new Date(milliseconds);
  if (Number.isNaN(at.getTime())) return String(milliseconds);
  const fraction = milliseconds % 1000 ? `.${String(Math.abs(Math.round(milliseconds % 1000))).padStart(3, "0")}` : "";
  const clock = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}${fraction}`;
  if (new Date(now).toDateString() === at.toDateString()) return clock;
  const date = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${date} ${clock}`;
}

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}
