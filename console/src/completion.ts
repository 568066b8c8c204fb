// What could stand at the cursor: words of the dialects, names in the text, known streams.
import { snippetCompletion, type Completion, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { prefixes, shortened } from "./terms";
import words from "./words.json";

/** What the server knows that can be named in a query. */
export interface Known {
  streams: () => readonly string[];
  /** Predicates and classes. */
  terms: () => readonly string[];
  continuous: boolean;
}

const snippets = [
  snippetCompletion("FROM STREAM <${stream}> [RANGE ${10s} STEP ${5s}]", { label: "FROM STREAM", detail: "C-SPARQL window", type: "keyword" }),
  snippetCompletion("FROM NAMED WINDOW <${w}> ON <${stream}> [RANGE ${PT10S} STEP ${PT5S}]", { label: "FROM NAMED WINDOW", detail: "RSP-QL window", type: "keyword" }),
  snippetCompletion("STREAM <${stream}> [RANGE ${10s}] { ${} }", { label: "STREAM", detail: "CQELS-QL pattern", type: "keyword" }),
  snippetCompletion("WINDOW <${w}> { ${} }", { label: "WINDOW", detail: "RSP-QL pattern", type: "keyword" }),
  snippetCompletion("REGISTER QUERY ${name} COMPUTED EVERY ${5s} AS\n${}", { label: "REGISTER QUERY", detail: "name and frequency", type: "keyword" }),
  snippetCompletion("AGGREGATE { (?${n}, COUNT, {?${key}}) }", { label: "AGGREGATE", detail: "C-SPARQL", type: "keyword" }),
  snippetCompletion("GROUP BY ?${key}", { label: "GROUP BY", type: "keyword" }),
  snippetCompletion("ORDER BY ?${key}", { label: "ORDER BY", type: "keyword" }),
  snippetCompletion("OPTIONAL { ${} }", { label: "OPTIONAL", type: "keyword" }),
  snippetCompletion("FILTER (${})", { label: "FILTER", type: "keyword" }),
  snippetCompletion("BIND (${} AS ?${x})", { label: "BIND", type: "keyword" }),
];
const withSnippet = new Set(snippets.map((each) => each.label));

const plain = (names: string[], type: string, boost = 0): Completion[] =>
  names.filter((name) => !withSnippet.has(name)).map((label) => ({ label, type, boost }));

const standard: Completion[] = [
  ...plain(words.keywords.filter((word) => word.length > 1), "keyword"),
  ...words.functions.map((name) => snippetCompletion(`${name}(\${})`, { label: name, type: "function", boost: -1 })),
  ...words.aggregates.map((name) => snippetCompletion(`${name}(\${})`, { label: name, type: "function", detail: "aggregate", boost: -1 })),
];
const continuous: Completion[] = [...snippets, ...plain(words.streaming, "keyword")];
const modifiers = snippets.filter((each) => !/WINDOW|STREAM|REGISTER|AGGREGATE/.test(each.label));

function distinct(text: string, pattern: RegExp): string[] {
  return [...new Set([...text.matchAll(pattern)].map((match) => match[1] ?? match[0]))];
}

function declarations(text: string): Completion[] {
  return Object.entries(words.prefixes)
    .filter(([prefix]) => !new RegExp(`PREFIX\\s+${prefix}:`, "i").test(text))
    .map(([prefix, space]) => ({ label: `${prefix}:`, apply: `${prefix}: <${space}>`, detail: space, type: "namespace" }));
}

function names(text: string, terms: readonly string[]): Completion[] {
  const used = distinct(text, /(?<![<\w/:])([A-Za-z][\w.-]*:[A-Za-z_][\w-]*)(?![^<>\n]*>)/g);
  const declared = distinct(text, /PREFIX\s+([\w.-]*:)/gi);
  const chances = declared.includes("rspu:") ? words.uncertainty.map((name) => `rspu:${name}`) : [];
  const spaces = prefixes(text).filter(([, prefix]) => declared.includes(`${prefix}:`));
  const seen = terms.map((iri) => shortened(iri, spaces)).filter((name) => !name.startsWith("<"));
  const labels = new Set([...declared, ...used, ...seen, ...chances]);
  return [...labels].map((label) => ({ label, type: "namespace", boost: 1 }));
}

/** Completions for one editor. */
export function completions(known: Known): (context: CompletionContext) => CompletionResult | null {
  return (context) => {
    const text = context.state.doc.toString();
    const variable = context.matchBefore(/[?$]\w*/);
    if (variable) {
      const own = context.state.sliceDoc(variable.from, variable.to);
      const options = distinct(text, /[?$]\w+/g).filter((name) => name !== own || text.split(name).length > 2);
      return { from: variable.from, options: options.map((label) => ({ label, type: "variable" })), validFor: /^[?$]\w*$/ };
    }
    const iri = context.matchBefore(/<[^\s<>"{}]*/);
    if (iri && !/<\s*$/.test(context.state.sliceDoc(iri.to, iri.to + 1))) {
      const closed = context.state.sliceDoc(context.pos, context.pos + 1) === ">";
      const found = [...new Set([...known.streams(), ...known.terms(), ...distinct(text, /<([^\s<>"{}]+)>/g)])];
      const options = found.map((each) => ({
        label: `<${each}`,
        displayLabel: each,
        apply: closed ? `<${each}` : `<${each}>`,
        type: known.streams().includes(each) ? "class" : "text",
        detail: known.streams().includes(each) ? "stream" : known.terms().includes(each) ? "seen in data" : "in this query",
      }));
      return { from: iri.from, options, validFor: /^<[^\s<>"{}]*$/ };
    }
    const declaring = context.matchBefore(/PREFIX\s+[\w.-]*/i);
    if (declaring) {
      const start = declaring.from + (/^PREFIX\s+/i.exec(declaring.text)?.[0].length ?? 0);
      return { from: start, options: declarations(text), validFor: /^[\w.-]*$/ };
    }
    const word = context.matchBefore(/[A-Za-z_][\w.:-]*/);
    if (!word && !context.explicit) return null;
    const options = [...names(text, known.terms()), ...standard, ...(known.continuous ? continuous : modifiers)];
    return { from: word?.from ?? context.pos, options, validFor: /^[\w.:-]*$/ };
  };
}
