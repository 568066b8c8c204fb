// Server-sent events over fetch, because EventSource cannot send a token.

export interface ServerEvent {
  id: string | null;
  event: string;
  data: string;
}

/** The events in a stream of text. Lines may end in any of the three ways, and be cut anywhere. */
export class EventParser {
  private rest = "";
  private id: string | null = null;
  private event = "";
  private data: string[] = [];

  push(text: string): ServerEvent[] {
    const events: ServerEvent[] = [];
    this.rest += text;
    // A carriage return at the end may be half of a line's end: it waits for what comes next.
    for (let end = this.lineEnd(); end !== null; end = this.lineEnd()) {
      const line = this.rest.slice(0, end[0]);
      this.rest = this.rest.slice(end[1]);
      this.line(line, events);
    }
    return events;
  }

  private lineEnd(): [number, number] | null {
    const found = /\r\n|\r(?=[^])|\n/.exec(this.rest);
    return found ? [found.index, found.index + found[0].length] : null;
  }

  private line(line: string, events: ServerEvent[]): void {
    if (line === "") {
      if (this.data.length || this.event) events.push({ id: this.id, event: this.event || "message", data: this.data.join("\n") });
      this.event = "";
      this.data = [];
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") this.data.push(value);
    else if (field === "event") this.event = value;
    else if (field === "id" && !value.includes("\0")) this.id = value;
  }
}
