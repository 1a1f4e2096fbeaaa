// SPDX-License-Identifier: Apache-2.0
// The job that a form describes: reading and writing members of a manifest, and values as people type them.
import type { Manifest } from "../../core/types";

export interface Schema {
  type?: string;
  description?: string;
  enum?: unknown[];
  default?: unknown;
  format?: string;
  pattern?: string;
  minimum?: number;
  items?: Schema;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  required?: string[];
}

// Returns a member of a manifest by its path.
export function getAt(object: unknown, path: string[]): unknown {
  let value = object;
  for (const key of path) value = value !== null && typeof value === "object" ? (value as Record<string, unknown>)[key] : undefined;
  return value;
}

// Returns a copy with a member set; an absent value removes it and the empty objects around it.
export function setAt(object: Manifest, path: string[], value: unknown): Manifest {
  const [key, ...rest] = path as [string, ...string[]];
  const copy: Manifest = { ...object };
  const old = copy[key];
  const child = rest.length ? setAt(old !== null && typeof old === "object" && !Array.isArray(old) ? (old as Manifest) : {}, rest, value) : value;
  const empty = child === undefined || child === "" || (rest.length > 0 && Object.keys(child as object).length === 0);
  if (empty) delete copy[key];
  else copy[key] = child;
  return copy;
}

// Reads an override: a scalar or list of YAML, or the text as it is (docs/spec/dashboard.md A11 F10).
export function scalarOf(text: string, asText: boolean): unknown {
  const trimmed = text.trim();
  if (asText) return trimmed;
  if (/^(true|false)$/.test(trimmed)) return trimmed === "true";
  if (/^(null|~)$/.test(trimmed)) return null;
  if (/^[-+]?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/.test(trimmed)) return Number(trimmed);
  if (/^\[.*\]$/.test(trimmed)) {
    const inner = trimmed.slice(1, -1).trim();
    return inner ? inner.split(",").map((one) => scalarOf(one, false)) : [];
  }
  const quoted = /^"(.*)"$|^'(.*)'$/.exec(trimmed);
  return quoted ? (quoted[1] ?? quoted[2]) : trimmed;
}

// Reads lines of "key: value"; lines without a colon are returned as problems.
export function readLines(text: string, asText: boolean): { values: Record<string, unknown>; problems: string[] } {
  const values: Record<string, unknown> = {};
  const problems: string[] = [];
  for (const line of text.split(/\r?\n/)) {
    if (!line.trim()) continue;
    const colon = line.indexOf(":");
    const key = line.slice(0, colon).trim();
    if (colon <= 0 || !key) problems.push(line.trim());
    else values[key] = scalarOf(line.slice(colon + 1), asText);
  }
  return { values, problems };
}

// Writes values as lines that readLines() reads.
export function writeLines(values: unknown): string {
  if (values === null || typeof values !== "object") return "";
  return Object.entries(values)
    .map(([key, value]) => `${key}: ${typeof value === "string" ? (String(scalarOf(value, false)) === value && typeof scalarOf(value, false) === "string" ? value : JSON.stringify(value)) : Array.isArray(value) ? `[${value.join(", ")}]` : JSON.stringify(value)}`)
    .join("\n");
}

// Returns where a job has its work for Forge: directly, or below its engine, which a resolver prepares first. A job without
// any gets it directly if the kind has that field.
export function enginePath(job: Manifest, schema: Schema): "forge" | "executionEngine.forge" {
  if (getAt(job, ["spec", "forge"]) !== undefined) return "forge";
  if (getAt(job, ["spec", "executionEngine"]) !== undefined) return "executionEngine.forge";
  return schema.properties?.["forge"] ? "forge" : "executionEngine.forge";
}

// Moves the work for Forge to another place.
export function moveEngine(job: Manifest, from: string, to: string): Manifest {
  const work = getAt(job, ["spec", ...from.split(".")]);
  return setAt(setAt(job, ["spec", ...from.split(".")], undefined), ["spec", ...to.split(".")], work ?? { project: "", args: [] });
}

// Returns a manifest to begin with.
export function newJob(ns: string, owner: string): Manifest {
  return { apiVersion: "fournos.dev/v1", kind: "FournosJob", metadata: { generateName: "job-", namespace: ns }, spec: { owner } };
}

// Returns a manifest for another run of a job: without what belongs to the old one.
export function copyOf(object: Manifest): Manifest {
  const metadata = (object["metadata"] ?? {}) as Record<string, unknown>;
  const { shutdown: _, ...spec } = (object["spec"] ?? {}) as Record<string, unknown>;
  const name = String(metadata["generateName"] ?? `${String(metadata["name"] ?? "job").replace(/-[a-z0-9]{5}$/, "")}-`);
  return { apiVersion: object["apiVersion"] ?? "fournos.dev/v1", kind: "FournosJob", metadata: { generateName: name.slice(0, 57), namespace: metadata["namespace"], ...(metadata["labels"] ? { labels: metadata["labels"] } : {}) }, spec };
}
