// Texts to begin with, over a stream that is there.

export interface Template {
  name: string;
  text: (stream: string) => string;
}

export const TEMPLATES: Template[] = [
  {
    name: "C-SPARQL: count by subject",
    text: (stream) => `SELECT ?s (COUNT(*) AS ?n)
FROM STREAM <${stream}> [RANGE 30s STEP 5s]
WHERE { ?s ?p ?o }
GROUP BY ?s
`,
  },
  {
    name: "CQELS-QL: every new triple",
    text: (stream) => `SELECT ?s ?p ?o
WHERE {
  STREAM <${stream}> [RANGE 10s] { ?s ?p ?o }
}
`,
  },
  {
    name: "RSP-QL: a named window",
    text: (stream) => `REGISTER RSTREAM <http://example.org/counts> AS
SELECT ?p (COUNT(?s) AS ?n)
FROM NAMED WINDOW <http://example.org/w> ON <${stream}> [RANGE PT30S STEP PT5S]
WHERE {
  WINDOW <http://example.org/w> { ?s ?p ?o }
}
GROUP BY ?p
`,
  },
];

export const PLAIN = `SELECT ?stream ?s ?p ?o
WHERE {
  GRAPH ?stream { ?s ?p ?o }
}
LIMIT 50
`;
