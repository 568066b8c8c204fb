// The state of the server, kept up to date by one stream of events for the whole page.
import { follow, Refused, type Alert, type Query, type Status, type Stream } from "./api";

export type Connection = "connecting" | "live" | "lost" | "refused";

type Listener = () => void;

class Live {
  status: Status | null = null;
  connection: Connection = "connecting";
  /** How often the server was found to be another one, or to have been away. */
  restarts = 0;
  problem = "";
  private again = false;
  private readonly listeners = new Set<Listener>();

  start(signal: AbortSignal): void {
    follow({
      path: "status/events",
      signal,
      event: (event) => {
        if (event.event === "status") this.take(JSON.parse(event.data) as Status);
        if (event.event === "alert") this.alert(JSON.parse(event.data) as Alert & { says: string });
      },
      // Until the server has said how it is, what is known is of before.
      opened: (again) => (this.again = again > 0),
      lost: () => this.set("lost"),
    }).catch((error: unknown) => {
      this.problem = error instanceof Refused ? error.message : String(error);
      this.set("refused");
    });
  }

  /** Be told of every change until the signal. */
  each(signal: AbortSignal, listener: Listener): void {
    this.listeners.add(listener);
    signal.addEventListener("abort", () => this.listeners.delete(listener), { once: true });
    if (this.status) listener();
  }

  query(name: string): Query | undefined {
    return this.status?.queries.find((query) => query.name === name);
  }

  stream(name: string): Stream | undefined {
    return this.status?.streams.find((stream) => stream.name === name);
  }

  /** Tell of a contract that is broken, or kept again. */
  alert: (alert: Alert & { says: string }) => void = () => undefined;

  private take(status: Status): void {
    this.status = status;
    this.connection = "live";
    if (this.again) this.restarts += 1;
    this.again = false;
    this.tell();
  }

  private set(connection: Connection): void {
    if (this.connection === connection) return;
    this.connection = connection;
    this.tell();
  }

  private tell(): void {
    for (const listener of [...this.listeners]) listener();
  }
}

export const live = new Live();
