// SPDX-License-Identifier: Apache-2.0
// What a job left behind: the engine's status as a tree with its links, and the files of its results.
import { useState } from "preact/hooks";
import { api, route } from "../../core/api";
import { useData } from "../../core/data";
import type { JobDetail } from "../../core/types";
import { Away, Empty, isWebAddress, Section } from "../../ui/basics";
import { Dialog } from "../../ui/dialog";
import { PlainTable } from "../../ui/table";

// The tab.
export function ArtifactsTab({ ns, name, detail }: { ns: string; name: string; detail: JobDetail }) {
  const status = (detail.object?.["status"] ?? {}) as { engineStatus?: unknown };
  return (
    <>
      <Section title="Engine status">{status.engineStatus ? <ValueTree value={status.engineStatus} name="engineStatus" /> : <p class="dim">The engine has written no status.</p>}</Section>
      <Results ns={ns} name={name} />
    </>
  );
}

// A value of JSON as a tree; web addresses are links.
export function ValueTree({ value, name }: { value: unknown; name: string }) {
  if (value !== null && typeof value === "object") {
    const entries = Object.entries(value);
    return (
      <details open class="value-tree">
        <summary>
          {name} <span class="dim">{Array.isArray(value) ? `${entries.length} items` : ""}</span>
        </summary>
        <div class="value-tree-body">
          {entries.map(([key, child]) => (
            <ValueTree key={key} value={child} name={key} />
          ))}
        </div>
      </details>
    );
  }
  const text = String(value);
  return (
    <div>
      <span class="dim">{name}:</span> {isWebAddress(text) ? <Away url={text} /> : text}
    </div>
  );
}

interface Files {
  available: boolean;
  reason?: string;
  files?: { path: string; bytes: number; type?: string }[];
  complete?: boolean; // false: there are more files
}

function Results({ ns, name }: { ns: string; name: string }) {
  const { data, error } = useData<Files>(`/results${route(ns, name)}`);
  const [open, setOpen] = useState<string>("");
  const file = data?.files?.find((one) => one.path === open);
  return (
    <Section title="Files of the results">
      {error && <p class="notice warn">! {error.message}</p>}
      {data && !data.available && <p class="dim">{data.reason}</p>}
      {data?.available && !data.files?.length && <Empty title="The results place is empty" />}
      {data?.files?.length ? (
        <PlainTable
          label="Files"
          titles={["File", "Type", "Size", ""]}
          right={[2]}
          rows={data.files.map((one) => [
            <button type="button" class="link" onClick={() => setOpen(one.path)}>
              {one.path}
            </button>,
            one.type,
            bytes(one.bytes),
            <a href={fileHref(ns, name, one.path)} download={one.path.split("/").at(-1)} data-native>
              Download
            </a>,
          ])}
        />
      ) : null}
      {data?.complete === false && <p class="notice warn">! There are more files than these {data.files?.length}: athanor results {name} --copy DIR copies all.</p>}
      {file && <FileView ns={ns} name={name} file={file} onClose={() => setOpen("")} />}
    </Section>
  );
}

function fileHref(ns: string, name: string, path: string): string {
  return api(`/results${route(ns, name)}/file?path=${encodeURIComponent(path)}`);
}

function FileView({ ns, name, file, onClose }: { ns: string; name: string; file: { path: string; bytes: number }; onClose: () => void }) {
  const picture = /\.png$/i.test(file.path);
  return (
    <Dialog title={file.path} onClose={onClose} wide>
      {picture ? <img class="result-picture" src={fileHref(ns, name, file.path)} alt={file.path} /> : file.bytes > 2_000_000 ? <p>The file is too large to be shown: download it.</p> : <FileText address={fileHref(ns, name, file.path)} csv={/\.csv$/i.test(file.path)} json={/\.json$/i.test(file.path)} />}
      <div class="dialog-actions">
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}

function FileText({ address, csv, json }: { address: string; csv: boolean; json: boolean }) {
  const [text, setText] = useState<string | undefined>();
  if (text === undefined) {
    void fetch(address)
      .then(async (response) => (response.ok ? setText(await response.text()) : setText(((await response.json().catch(() => undefined)) as { error?: { message?: string } } | undefined)?.error?.message ?? `the console answered ${response.status}`)))
      .catch((error: unknown) => setText(String(error)));
    return <p class="loading">Loading…</p>;
  }
  if (csv) {
    const rows = parseCsv(text);
    return <PlainTable label="Table" titles={rows[0] ?? []} rows={rows.slice(1, 501)} />;
  }
  return <pre class="block tail">{json ? pretty(text) : text}</pre>;
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

// Reads CSV with quoted cells.
export function parseCsv(text: string): string[][] {
  const rows: string[][] = [[]];
  let cell = "";
  let quoted = false;
  const endCell = () => {
    rows.at(-1)!.push(cell);
    cell = "";
  };
  for (let i = 0; i < text.length; i++) {
    const c = text[i]!;
    if (quoted) {
      if (c === '"' && text[i + 1] === '"') (cell += '"'), i++;
      else if (c === '"') quoted = false;
      else cell += c;
    } else if (c === '"') quoted = true;
    else if (c === ",") endCell();
    else if (c === "\n") (endCell(), rows.push([]));
    else if (c !== "\r") cell += c;
  }
  if (cell || rows.at(-1)!.length) endCell();
  return rows.filter((row) => row.length > 0);
}

// Formats a size in bytes.
export function bytes(size: number): string {
  const units = ["B", "KiB", "MiB", "GiB"];
  let i = 0;
  while (size >= 1024 && i < units.length - 1) (size /= 1024), i++;
  return `${i ? size.toFixed(1) : size} ${units[i]}`;
}
