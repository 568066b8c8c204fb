// Browsers that run with the locale "C" name a language that Intl refuses, and uPlot asks for it on
// loading. This is imported before it.
try {
  new Intl.NumberFormat(navigator.language);
} catch {
  Object.defineProperty(navigator, "language", { value: "en" });
}
