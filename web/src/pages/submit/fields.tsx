// SPDX-License-Identifier: Apache-2.0
// Fields of a form that the schema of a kind describes; errors of the server stand beside them.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { FieldError } from "../../core/api";
import { readLines, writeLines, type Schema } from "./manifest";

// A field with its label, hint and error.
export function Field({ label, hint, error, children, required }: { label: string; hint?: string | undefined; error?: string | undefined; children: ComponentChildren; required?: boolean }) {
  return (
    <div class={`field${error ? " wrong" : ""}`}>
      <label>
        <span>
          {label}
          {required && <span class="dim"> required</span>}
        </span>
        {children}
      </label>
      {error ? (
        <p class="bad-text" role="alert">
          {error}
        </p>
      ) : (
        hint && <p class="dim hint">{hint}</p>
      )}
    </div>
  );
}

// Returns the error of a path: "spec.hardware.gpuCount" or a part of it.
export function errorAt(errors: FieldError[], path: string): string | undefined {
  return errors.find((one) => one.field === path || one.field.startsWith(`${path}.`) || one.field.startsWith(`${path}[`))?.message;
}

// A text that becomes a value only when it is left, so that a half-typed one is no error.
export function LinesField({ value, onValue, label, asText, placeholder }: { value: unknown; onValue: (value: Record<string, unknown> | undefined) => void; label: string; asText: boolean; placeholder?: string }) {
  const [draft, setDraft] = useState<string | undefined>();
  const [problems, setProblems] = useState<string[]>([]);
  return (
    <>
      <textarea
        rows={4}
        aria-label={label}
        placeholder={placeholder}
        spellcheck={false}
        value={draft ?? writeLines(value)}
        onInput={(event) => {
          const text = event.currentTarget.value;
          setDraft(text);
          const read = readLines(text, asText);
          setProblems(read.problems);
          onValue(Object.keys(read.values).length ? read.values : undefined);
        }}
        onBlur={() => problems.length === 0 && setDraft(undefined)}
      />
      {problems.length > 0 && <p class="bad-text" role="alert">No colon: {problems.join("; ")}</p>}
    </>
  );
}

// A field of the schema's type.
export function SchemaField({ name, schema, value, onValue, error, options }: { name: string; schema: Schema; value: unknown; onValue: (value: unknown) => void; error?: string | undefined; options?: string[] | undefined }) {
  const hint = schema.description;
  if (schema.type === "boolean") {
    return (
      <div class={`field${error ? " wrong" : ""}`}>
        <label class="inline">
          <input type="checkbox" checked={value === undefined ? schema.default === true : value === true} onChange={(event) => onValue(event.currentTarget.checked || (schema.default === true ? false : undefined))} /> {name}
        </label>
        <p class={error ? "bad-text" : "dim hint"}>{error ?? hint}</p>
      </div>
    );
  }
  const choices = options ?? schema.enum?.map(String);
  if (choices) {
    return (
      <Field label={name} hint={hint} error={error}>
        <select value={String(value ?? "")} onChange={(event) => onValue(event.currentTarget.value || undefined)}>
          <option value="">{schema.default === undefined ? "none" : `default: ${String(schema.default)}`}</option>
          {choices.map((one) => (
            <option value={one}>{one}</option>
          ))}
        </select>
      </Field>
    );
  }
  if (schema.type === "integer" || schema.type === "number") {
    return (
      <Field label={name} hint={hint} error={error}>
        <input type="number" min={schema.minimum} value={value === undefined ? "" : String(value)} onInput={(event) => onValue(event.currentTarget.value === "" ? undefined : Number(event.currentTarget.value))} />
      </Field>
    );
  }
  if (schema.type === "array") {
    return (
      <Field label={name} hint={`${hint ?? ""} Separate by commas.`} error={error}>
        <ListInput value={value} onValue={onValue} />
      </Field>
    );
  }
  if (schema.type === "object") {
    return (
      <Field label={name} hint={`${hint ?? ""} One "key: value" per line.`} error={error}>
        <LinesField label={name} value={value} onValue={onValue} asText={typeof schema.additionalProperties === "object" && schema.additionalProperties.type === "string"} />
      </Field>
    );
  }
  return (
    <Field label={name} hint={hint} error={error}>
      <input value={String(value ?? "")} placeholder={schema.default === undefined ? "" : String(schema.default)} onInput={(event) => onValue(event.currentTarget.value || undefined)} />
    </Field>
  );
}

// Texts separated by commas.
export function ListInput({ value, onValue }: { value: unknown; onValue: (value: string[] | undefined) => void }) {
  const list = Array.isArray(value) ? value.map(String) : [];
  const [draft, setDraft] = useState<string | undefined>();
  return (
    <input
      value={draft ?? list.join(", ")}
      onInput={(event) => {
        setDraft(event.currentTarget.value);
        const items = event.currentTarget.value.split(",").map((one) => one.trim()).filter(Boolean);
        onValue(items.length ? items : undefined);
      }}
      onBlur={() => setDraft(undefined)}
    />
  );
}
