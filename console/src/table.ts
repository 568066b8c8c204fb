// Solutions as a table; the newest can be seen to have come.
import { fill, h } from "./dom";
import { numeric, shown, text, type Row } from "./terms";

export interface Line {
  key: string;
  /** What stands before the variables, such as a time. */
  lead: string | null;
  row: Row;
}

export class Table {
  readonly element: HTMLElement;
  private readonly head = h("tr");
  private readonly body = h("tbody");
  private columns = "";
  private right = new Set<string>();
  private values = new Map<string, string>();

  constructor(
    caption: string,
    private readonly names: () => [string, string][],
  ) {
    this.element = h(
      "div",
      { class: "table-box", tabindex: 0, role: "region", "aria-label": caption },
      h("table", {}, h("caption", { class: "hidden" }, caption), h("thead", {}, this.head), this.body),
    );
  }

  show(variables: readonly string[], lines: readonly Line[], moving: boolean, lead: string | null = null): void {
    const columns = [lead ?? "", ...variables].join("\n");
    // A column that has no values for once keeps its side.
    const toRight = (name: string) => {
      const terms = lines.map(({ row }) => row[name]).filter((term) => term !== undefined);
      return terms.length ? terms.every((term) => numeric(term) !== null) : this.right.has(name);
    };
    const right = (this.right = new Set(variables.filter(toRight)));
    if (columns !== this.columns) {
      this.columns = columns;
      this.values.clear();
    }
    fill(
      this.head,
      lead ? h("th", { scope: "col" }, lead) : null,
      variables.map((name) => h("th", { scope: "col", class: right.has(name) ? "right" : "" }, name)),
    );
    const before = this.values;
    const now = new Map<string, string>();
    const names = this.names();
    const rows = lines.map(({ key, lead: first, row }) => {
      const isNew = moving && before.size > 0 && !before.has(key);
      now.set(key, "");
      return h(
        "tr",
        { class: isNew ? "new" : "" },
        lead === null ? null : h("td", { class: "lead" }, first),
        variables.map((name) => {
          const place = `${key}\n${name}`;
          const words = text(row[name]);
          const changed = moving && before.has(place) && before.get(place) !== words;
          now.set(place, words);
          return h("td", { class: `${right.has(name) ? "right" : ""}${changed ? " changed" : ""}` }, shown(row[name], names));
        }),
      );
    });
    this.values = now;
    this.body.replaceChildren(...rows);
  }
}
