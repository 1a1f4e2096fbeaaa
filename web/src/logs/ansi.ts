// SPDX-License-Identifier: Apache-2.0
// Colours of terminal output as runs of text. Nothing in a log is ever read as HTML; other control bytes are shown escaped.

export interface Run {
  text: string;
  classes: string; // "a-1" (a colour of the 16), "b-1" (background), bold, dim, italic, underline
  colour?: string; // of 256 colours and RGB
  background?: string;
}

interface Style {
  fore: string;
  back: string;
  foreRgb: string;
  backRgb: string;
  flags: Set<string>;
}

const kPlain = (): Style => ({ fore: "", back: "", foreRgb: "", backRgb: "", flags: new Set() });

function rgb256(index: number): string {
  if (index >= 232) {
    const grey = 8 + (index - 232) * 10;
    return `rgb(${grey},${grey},${grey})`;
  }
  const level = (value: number) => (value ? 55 + value * 40 : 0);
  const cube = index - 16;
  return `rgb(${level(Math.floor(cube / 36))},${level(Math.floor(cube / 6) % 6)},${level(cube % 6)})`;
}

function extended(codes: number[], at: number): { used: number; index?: number; colour?: string } {
  if (codes[at] === 5) {
    const index = codes[at + 1] ?? 0;
    return index < 16 ? { used: 2, index } : { used: 2, colour: rgb256(Math.min(255, index)) };
  }
  if (codes[at] === 2) {
    const [r, g, b] = [1, 2, 3].map((i) => Math.min(255, Math.max(0, codes[at + i] ?? 0)));
    return { used: 4, colour: `rgb(${r},${g},${b})` };
  }
  return { used: 1 };
}

function applyCodes(style: Style, codes: number[]): void {
  const flags: Record<number, string> = { 1: "bold", 2: "faint", 3: "italic", 4: "underline", 7: "inverse", 9: "strike" };
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i]!;
    if (code === 0) Object.assign(style, kPlain());
    else if (Object.hasOwn(flags, code)) style.flags.add(flags[code]!);
    else if (code === 22) (style.flags.delete("bold"), style.flags.delete("faint"));
    else if (code >= 23 && code <= 29) style.flags.delete(flags[code - 20] ?? "");
    else if (code >= 30 && code <= 37) ((style.fore = String(code - 30)), (style.foreRgb = ""));
    else if (code >= 90 && code <= 97) ((style.fore = String(code - 82)), (style.foreRgb = ""));
    else if (code >= 40 && code <= 47) ((style.back = String(code - 40)), (style.backRgb = ""));
    else if (code >= 100 && code <= 107) ((style.back = String(code - 92)), (style.backRgb = ""));
    else if (code === 39) style.fore = style.foreRgb = "";
    else if (code === 49) style.back = style.backRgb = "";
    else if (code === 38 || code === 48) {
      const { used, index, colour } = extended(codes, i + 1);
      if (code === 38) ((style.fore = index === undefined ? "" : String(index)), (style.foreRgb = colour ?? ""));
      else ((style.back = index === undefined ? "" : String(index)), (style.backRgb = colour ?? ""));
      i += used;
    }
  }
}

// Shows control bytes as \x07; tabs become spaces.
export function escapeControls(text: string): string {
  return text.replace(/\t/g, "    ").replace(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, (c) => {
    const code = c.charCodeAt(0);
    return code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16)}`;
  });
}

// Splits a line into runs. Sequences that set no colour (cursor moves, titles) are left out.
export function parseAnsi(line: string): Run[] {
  if (!line.includes("\u001b")) return [{ text: escapeControls(line), classes: "" }];
  const runs: Run[] = [];
  const style = kPlain();
  const sequence = /\u001b(?:\[([0-?]*)[ -/]*([@-~])|\][^\u0007\u001b]*(?:\u0007|\u001b\\))/g;
  let at = 0;
  const push = (text: string) => {
    if (!text) return;
    const classes = [style.fore && `a-${style.fore}`, style.back && `b-${style.back}`, ...style.flags].filter(Boolean).join(" ");
    runs.push({ text: escapeControls(text), classes, ...(style.foreRgb ? { colour: style.foreRgb } : {}), ...(style.backRgb ? { background: style.backRgb } : {}) });
  };
  for (const match of line.matchAll(sequence)) {
    push(line.slice(at, match.index));
    at = match.index + match[0].length;
    if (match[2] === "m") applyCodes(style, (match[1] || "0").split(/[;:]/).map(Number));
  }
  push(line.slice(at));
  return runs;
}

// Returns the text of a line as it is shown, without colours.
export function plainText(line: string): string {
  return parseAnsi(line).map((run) => run.text).join("");
}
