// A query editor: highlighting, completion, and errors underlined where they are, as one types.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, indentOnInput } from "@codemirror/language";
import { forceLinting, linter, lintKeymap, nextDiagnostic, type Diagnostic } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorState, Prec } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, highlightSpecialChars, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { completions, type Known } from "./completion";
import { h } from "./dom";
import { headraceLanguage } from "./language";
import { offsetIn } from "./offsets";

/** Something wrong with a text; offsets count code points. */
export interface Problem {
  message: string;
  hint?: string | null;
  line?: number | null;
  column?: number | null;
  start?: number | null;
  end?: number | null;
  severity?: "error" | "warning";
}

export interface Options {
  text: string;
  label: string;
  known: Known;
  check?: (text: string) => Promise<Problem[]>;
  changed?: (text: string) => void;
  submit: () => void;
  placeholder?: string;
}

const PATIENCE = 300;

function diagnostic(text: string, problem: Problem): Diagnostic {
  let from = offsetIn(text, problem.start ?? 0);
  let to = offsetIn(text, problem.end ?? problem.start ?? 0);
  if (problem.start === null || problem.start === undefined) {
    from = 0;
    to = text.length;
  } else if (to <= from) {
    // The end of a text has no width: what stands before it is marked.
    to = Math.min(from + 1, text.length);
    if (to === from) from = Math.max(0, text.trimEnd().length - 1);
  }
  return {
    from,
    to,
    severity: problem.severity ?? "error",
    message: problem.message,
    renderMessage: () =>
      h("span", { class: "diagnostic" }, problem.message, problem.hint ? h("span", { class: "diagnostic-hint" }, problem.hint) : null),
  };
}

/** Replace what is selected by a typed text ourselves: the browser would style what is left of it. */
function typedOver(event: InputEvent, view: EditorView): boolean {
  // Brackets and quotes go around what is selected: closeBrackets does that.
  const replaces = event.inputType === "insertText" && event.data && !/^[([{"']$/.test(event.data);
  if (!replaces || view.composing || view.state.selection.main.empty) return false;
  event.preventDefault();
  view.dispatch(view.state.replaceSelection(event.data ?? ""), { userEvent: "input.type", scrollIntoView: true });
  return true;
}

export class Editor {
  readonly element: HTMLElement;
  readonly view: EditorView;

  constructor(private readonly options: Options) {
    this.view = new EditorView({ state: this.state(options.text) });
    this.element = h("div", { class: "editor" }, this.view.dom);
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  set text(text: string) {
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } });
  }

  /** Ask for errors now. */
  check(): void {
    forceLinting(this.view);
  }

  /** Go to the next error. */
  toProblem(): void {
    this.view.focus();
    nextDiagnostic(this.view);
  }

  focus(): void {
    this.view.focus();
  }

  destroy(): void {
    this.view.destroy();
  }

  private state(text: string): EditorState {
    const { check, changed, known, label, submit } = this.options;
    const run = { key: "Mod-Enter", run: () => (submit(), true) };
    return EditorState.create({
      doc: text,
      extensions: [
        Prec.highest(keymap.of([run])),
        lineNumbers(),
        highlightSpecialChars(),
        history(),
        drawSelection(),
        indentOnInput(),
        bracketMatching(),
        closeBrackets(),
        highlightActiveLine(),
        highlightSelectionMatches(),
        search({ top: true }),
        headraceLanguage(),
        autocompletion({ override: [completions(known)], icons: false }),
        // Tab leaves the editor, so that nobody who works by keyboard is caught in it.
        keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...completionKeymap, ...lintKeymap]),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", autocapitalize: "off", autocorrect: "off" }),
        EditorView.domEventHandlers({ beforeinput: typedOver }),
        placeholder(this.options.placeholder ?? ""),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) changed?.(update.state.doc.toString());
        }),
        check ? [linter(async (view) => this.diagnostics(view, check), { delay: PATIENCE })] : [],
      ],
    });
  }

  private async diagnostics(view: EditorView, check: (text: string) => Promise<Problem[]>): Promise<Diagnostic[]> {
    const text = view.state.doc.toString();
    const problems = text.trim() ? await check(text) : [];
    return problems.map((problem) => diagnostic(text, problem));
  }
}
