// The dialects as CodeMirror reads them: one tokeniser for all, because texts may mix their words.
import { HighlightStyle, LanguageSupport, StreamLanguage, syntaxHighlighting, type StringStream } from "@codemirror/language";
import { Tag, tags } from "@lezer/highlight";
import words from "./words.json";

interface State {
  long: string | null;
}

const keywords = new Set(words.keywords);
const streaming = new Set(words.streaming);
const functions = new Set([...words.functions, ...words.aggregates]);

const streamWord = Tag.define(tags.keyword);
const time = Tag.define(tags.number);

function longString(stream: StringStream, state: State): string {
  const quote = state.long ?? '"""';
  while (!stream.eol()) {
    if (stream.match(quote)) {
      state.long = null;
      break;
    }
    if (stream.next() === "\\") stream.next();
  }
  return "string";
}

const tokens = StreamLanguage.define<State>({
  name: "headrace",
  startState: () => ({ long: null }),
  copyState: (state) => ({ ...state }),
  languageData: { commentTokens: { line: "#" }, closeBrackets: { brackets: ["(", "[", "{", '"', "'"] } },
  token(stream, state) {
    if (state.long) return longString(stream, state);
    if (stream.eatSpace()) return null;
    if (stream.match(/^#.*/)) return "comment";
    const long = stream.match(/^("""|''')/) as RegExpMatchArray | null;
    if (long) {
      state.long = long[0];
      return longString(stream, state);
    }
    if (stream.match(/^"(?:[^"\\]|\\.)*"?/) || stream.match(/^'(?:[^'\\]|\\.)*'?/)) return "string";
    if (stream.match(/^<[^\s<>"{}|^`\\]*>/)) return "iri";
    if (stream.match(/^(<<\(?|\)?>>|\{\||\|\})/)) return "quote";
    if (stream.match(/^[?$][\p{L}_0-9]+/u)) return "variable";
    if (stream.match(/^@[A-Za-z]+(-[A-Za-z0-9]+)*/)) return "language";
    if (stream.match(/^_:[\p{L}_0-9.-]*/u)) return "blank";
    if (stream.match(/^P(?=\d|T\d)[\dYMWDTHS.]+(?![\w:])/)) return "time";
    if (stream.match(/^\d+(\.\d+)?(ms|s|m|h|d)(?![\w:])/)) return "time";
    if (stream.match(/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?/)) return "number";
    if (stream.match(/^[\p{L}][\p{L}\d_.-]*:(?:[\p{L}\d_:%\\-]|\.(?=[\p{L}\d_:%-]))*/u) || stream.match(/^:(?:[\p{L}\d_:%\\-]|\.(?=[\p{L}\d_:%-]))*/u))
      return "name";
    const word = stream.match(/^[A-Za-z_][A-Za-z_0-9]*/) as RegExpMatchArray | null;
    if (word) return wordKind(word[0], stream.string.slice(stream.pos));
    stream.next();
    return /[[\](){}]/.test(stream.current()) ? "bracket" : "operator";
  },
  tokenTable: {
    comment: tags.lineComment,
    string: tags.string,
    iri: tags.url,
    quote: tags.brace,
    variable: tags.variableName,
    language: tags.annotation,
    blank: tags.labelName,
    time,
    number: tags.number,
    name: tags.namespace,
    keyword: tags.keyword,
    streaming: streamWord,
    function: tags.function(tags.name),
    bracket: tags.bracket,
    operator: tags.operator,
  },
});

function wordKind(word: string, after: string): string | null {
  const upper = word.toUpperCase();
  const called = /^\s*\(/.test(after);
  if (functions.has(upper) && (called || !streaming.has(upper))) return "function";
  if (word === "a" || (keywords.has(upper) && word !== "A")) return "keyword";
  return streaming.has(upper) ? "streaming" : null;
}

const colours = HighlightStyle.define([
  { tag: tags.lineComment, class: "tok-comment" },
  { tag: tags.string, class: "tok-string" },
  { tag: tags.url, class: "tok-iri" },
  { tag: tags.brace, class: "tok-quote" },
  { tag: tags.variableName, class: "tok-variable" },
  { tag: tags.annotation, class: "tok-string" },
  { tag: tags.labelName, class: "tok-variable" },
  { tag: time, class: "tok-time" },
  { tag: tags.number, class: "tok-number" },
  { tag: tags.namespace, class: "tok-name" },
  { tag: tags.keyword, class: "tok-keyword" },
  { tag: streamWord, class: "tok-streaming" },
  { tag: tags.function(tags.name), class: "tok-function" },
  { tag: tags.operator, class: "tok-operator" },
]);

export function headraceLanguage(): LanguageSupport {
  return new LanguageSupport(tokens, syntaxHighlighting(colours));
}
