// SPDX-License-Identifier: Apache-2.0
// YAML of objects. The library is loaded when a page needs it for the first time.
type Library = typeof import("js-yaml");
let library: Promise<Library> | undefined;

function load(): Promise<Library> {
  return (library ??= import("js-yaml"));
}

// Formats a value as YAML.
export async function toYaml(value: unknown): Promise<string> {
  return (await load()).dump(value, { lineWidth: 120, noRefs: true });
}

// Reads YAML; the error names the line.
export async function fromYaml(text: string): Promise<unknown> {
  return (await load()).load(text);
}
