// Offsets that the server counts in code points, as editors count them.

/** Where the n-th code point of a text stands in UTF-16, which is what editors count. */
export function offsetIn(text: string, codePoints: number): number {
  let at = 0;
  for (let passed = 0; passed < codePoints && at < text.length; passed += 1) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  return at;
}
