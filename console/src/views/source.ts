// The text of a registered query, and what it means.
import type { Query } from "../api";
import { h } from "../dom";
import { EditorState } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";
import { headraceLanguage } from "../language";
import { action } from "../view";

export function source(query: Query, edit: () => void): HTMLElement {
  const view = new EditorView({
    state: EditorState.create({
      doc: query.text.trimEnd(),
      extensions: [
        lineNumbers(),
        headraceLanguage(),
        EditorView.lineWrapping,
        EditorState.readOnly.of(true),
        EditorView.contentAttributes.of({ "aria-label": "Text of the query, read only" }),
      ],
    }),
  });
  return h(
    "section",
    { class: "pane grow", "aria-labelledby": "text" },
    h("div", { class: "pane-head" }, h("h2", { id: "text" }, "Text"), action("Edit as a new query", edit)),
    h("div", { class: "editor" }, view.dom),
    h("p", { class: "muted" }, query.summary),
  );
}
