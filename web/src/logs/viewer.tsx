// SPDX-License-Identifier: Apache-2.0
// The view of a log: virtualised, searched over all its lines, with colours, levels, sections and links to lines.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { api } from "../core/api";
import { useShortcuts } from "../core/keys";
import { readPref, writePref } from "../core/prefs";
import { setQuery, usePlace } from "../core/router";
import { parseAnsi } from "./ansi";
import { isHeading, kAll, levelOf, type LogModel, type View } from "./model";
import { emptyLog, loadGap, readLog, type LogState } from "./source";

const kLine = 18;

// Rows that a text takes when it is wrapped at `columns` characters.
export function rowsOf(text: string, columns: number): number {
  let wide = 0;
  for (const c of text) wide += c.charCodeAt(0) >= 0x1100 ? 2 : 1;
  return Math.max(1, Math.ceil(wide / Math.max(20, columns)));
}

// A log at a route of the API; `follow` as long as its pods run.
export function LogViewer({ path, follow, name }: { path: string; follow: boolean; name: string }) {
  const { query } = usePlace();
  const state = useRef<LogState>(emptyLog());
  const [version, bump] = useState(0);
  const [wrap, setWrap] = useState(() => readPref("log.wrap", false));
  const [times, setTimes] = useState(() => readPref("log.times", false));
  const [stick, setStick] = useState(follow && !location.hash);
  const view: View = { ...kAll, level: (query.get("level") as View["level"]) || "all", source: query.get("source") ?? "", query: query.get("q") ?? "", regex: query.get("regex") === "1", caseful: query.get("case") === "1", onlyHits: query.get("only") === "1" };

  useEffect(() => {
    state.current = emptyLog();
    bump((n) => n + 1);
    return readLog(path, follow, state.current, () => bump((n) => n + 1));
  }, [path, follow]);

  const { model } = state.current;
  const signature = JSON.stringify(view);
  const { shown, hits, problem } = useMemo(() => model.show(view), [version, signature]);
  const sources = useMemo(() => model.sources(), [version]);
  const [hit, setHit] = useState(0);
  const list = useRef<ListHandle>({ to: () => undefined });
  const input = useRef<HTMLInputElement>(null);
  const goHit = (step: number) => {
    if (!hits.length) return;
    const next = (hit + step + hits.length) % hits.length;
    setHit(next);
    setStick(false);
    list.current.to(hits[next]!);
  };
  useEffect(() => {
    setHit(0);
    if (view.query && hits.length) {
      setStick(false);
      list.current.to(hits[0]!);
    }
  }, [signature]);
  useEffect(() => {
    const match = /^#L(\d+)$/.exec(location.hash);
    if (match && !state.current.loading) list.current.to(Number(match[1]));
  }, [state.current.loading]);
  useShortcuts([
    { keys: "/", does: "search the log", run: () => input.current?.focus() },
    { keys: "n", does: "next hit", run: () => goHit(1) },
    { keys: "N", does: "hit before", run: () => goHit(-1) },
    { keys: "e", does: "first error", run: () => firstError() },
  ]);
  const firstError = () => {
    const n = model.firstError();
    if (n) {
      setStick(false);
      list.current.to(n);
    }
  };
  const toggle = (set: (value: boolean) => void, key: string, value: boolean) => {
    set(value);
    writePref(key, value);
  };
  const { loading, total, error, gaps, archived, following } = state.current;
  const mark = path.includes("?") ? "&" : "?";

  return (
    <div class="logs fillpage">
      <div class="toolbar">
        <input ref={input} type="search" placeholder="Search the whole log ( / )" aria-label="Search the log" value={view.query} onInput={(event) => setQuery({ q: event.currentTarget.value || null })} onKeyDown={(event) => event.key === "Enter" && goHit(event.shiftKey ? -1 : 1)} aria-invalid={problem !== ""} data-testid="log-search" />
        <button type="button" aria-pressed={view.regex} class="toggle" onClick={() => setQuery({ regex: view.regex ? null : "1" })} title="Regular expression">.*</button>
        <button type="button" aria-pressed={view.caseful} class="toggle" onClick={() => setQuery({ case: view.caseful ? null : "1" })} title="Upper and lower case differ">Aa</button>
        <button type="button" aria-pressed={view.onlyHits} class="toggle" onClick={() => setQuery({ only: view.onlyHits ? null : "1" })} title="Show only hits">Only hits</button>
        <button type="button" onClick={() => goHit(-1)} aria-label="Hit before" disabled={!hits.length}>↑</button>
        <button type="button" onClick={() => goHit(1)} aria-label="Next hit" disabled={!hits.length}>↓</button>
        <span class="dim nowrap" role="status" data-testid="log-hits">
          {problem ? <span class="bad-text">{problem}</span> : view.query ? (hits.length ? `${hit + 1} of ${hits.length}` : "no hit") : ""}
        </span>
        <span class="grow" />
        {sources.length > 1 && (
          <select aria-label="Source" value={view.source} onChange={(event) => setQuery({ source: event.currentTarget.value || null })}>
            <option value="">all sources</option>
            {sources.map((one) => (
              <option value={one}>{one}</option>
            ))}
          </select>
        )}
        <select aria-label="Level" value={view.level} onChange={(event) => setQuery({ level: event.currentTarget.value === "all" ? null : event.currentTarget.value })}>
          <option value="all">all levels</option>
          <option value="info">info and above</option>
          <option value="warn">warnings and errors</option>
          <option value="error">errors</option>
        </select>
        <button type="button" onClick={firstError}>First error</button>
        <button type="button" class="toggle" aria-pressed={times} onClick={() => toggle(setTimes, "log.times", !times)}>Times</button>
        <button type="button" class="toggle" aria-pressed={wrap} onClick={() => toggle(setWrap, "log.wrap", !wrap)}>Wrap</button>
        {follow && <button type="button" class="toggle" aria-pressed={stick} onClick={() => setStick(!stick)}>Follow</button>}
        <a class="button" href={api(path)} target="_blank" rel="noopener" data-native>Raw</a>
        <a class="button" href={api(`${path}${mark}download=1`)} download={`${name}.log`} data-native>Download</a>
        <a class="button" href={api(`${path}${mark}download=gzip`)} download={`${name}.log.gz`} title="Download, packed with gzip" data-native>.gz</a>
      </div>
      {error && <p class="notice bad" role="alert">✕ {error}</p>}
      {gaps.map((gap) => (
        <p class="notice warn" role="status">
          ! {gap.skipped} lines were skipped because this browser was slower than the log —{" "}
          <button type="button" class="link" onClick={() => void loadGap(state.current, path).then(() => bump((n) => n + 1))}>load them</button>
        </p>
      ))}
      <LogList model={model} shown={shown} hits={hits} current={hits[hit] ?? 0} wrap={wrap} times={times} source={sources.length > 1} stick={stick} onScrollUp={() => setStick(false)} handle={list} onFold={(n) => (model.folded.delete(n) || model.folded.add(n), bump((v) => v + 1))} version={version} />
      <p class="dim log-foot">
        {loading ? `Loading ${model.count} of ${total || "?"} lines…` : `${shown.length === model.count ? model.count : `${shown.length} of ${model.count}`} lines`}
        {archived && " · from the archive"}
        {following && " · following"}
      </p>
    </div>
  );
}

// A line with its colours.
export function Runs({ line }: { line: string }) {
  return (
    <>
      {parseAnsi(line).map((run) => {
        if (!run.classes && !run.colour && !run.background) return run.text;
        const style = run.background ? { color: run.colour ?? contrasting(run.background), background: run.background } : run.colour ? { "--fore": run.colour } : undefined;
        return (
          <span class={`${run.classes}${run.colour && !run.background ? " fore" : ""}`} style={style}>
            {run.text}
          </span>
        );
      })}
    </>
  );
}

// Returns black or white, whichever stands out on a colour.
export function contrasting(background: string): string {
  const [r = 0, g = 0, b = 0] = (background.match(/\d+/g) ?? []).map(Number);
  return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#000" : "#fff";
}

interface ListHandle {
  to: (n: number) => void;
}

interface ListProps {
  model: LogModel;
  shown: number[];
  hits: number[];
  current: number;
  wrap: boolean;
  times: boolean;
  source: boolean;
  stick: boolean;
  version: number;
  onScrollUp: () => void;
  onFold: (n: number) => void;
  handle: { current: ListHandle };
}

function LogList(props: ListProps) {
  const { model, shown, wrap, times, source } = props;
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600, width: 900 });
  const [active, setActive] = useState(0);
  const columns = Math.floor((view.width - 76 - (times ? 108 : 0) - (source ? 150 : 0) - 24) / 7.23);
  // Tops of wrapped lines; without wrapping every line is one row.
  const tops = useMemo(() => {
    if (!wrap) return undefined;
    const list = new Float64Array(shown.length + 1);
    for (let i = 0; i < shown.length; i++) list[i + 1] = list[i]! + kLine * rowsOf(model.textOf(shown[i]!), columns);
    return list;
  }, [shown, wrap, columns]);
  const topOf = (i: number) => (tops ? tops[i]! : i * kLine);
  const indexAt = (y: number) => {
    if (!tops) return Math.floor(y / kLine);
    let low = 0;
    let high = shown.length;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (tops[middle]! <= y) low = middle;
      else high = middle - 1;
    }
    return low;
  };
  const height = topOf(shown.length);
  const first = Math.max(0, indexAt(view.top) - 20);
  const last = Math.min(shown.length, indexAt(view.top + view.height) + 21);
  const hitSet = useMemo(() => new Set(props.hits), [props.hits]);

  props.handle.current.to = (n) => {
    const i = shown.indexOf(n);
    if (i < 0) return;
    setActive(n);
    box.current!.scrollTop = Math.max(0, topOf(i) - view.height / 3);
  };
  useLayoutEffect(() => {
    const element = box.current!;
    let frame = 0;
    const read = () => {
      frame = 0;
      setView({ top: element.scrollTop, height: element.clientHeight, width: element.clientWidth });
    };
    const later = () => (frame ||= requestAnimationFrame(read));
    read();
    element.addEventListener("scroll", later, { passive: true });
    const observer = new ResizeObserver(later);
    observer.observe(element);
    return () => {
      cancelAnimationFrame(frame);
      element.removeEventListener("scroll", later);
      observer.disconnect();
    };
  }, []);
  useLayoutEffect(() => {
    if (props.stick) box.current!.scrollTop = height;
  }, [props.stick, height, props.version]);

  const rows = [];
  for (let i = first; i < last; i++) {
    const n = shown[i]!;
    const line = model.get(n);
    if (!line) continue;
    const text = model.textOf(n);
    const heading = isHeading(text);
    const level = levelOf(text);
    rows.push(
      <div key={n} class={`log-line${wrap ? " wrap" : ""}${heading ? " heading" : ""} l-${level}${hitSet.has(n) ? " hit" : ""}${n === props.current || n === active ? " current" : ""}`} style={{ top: `${topOf(i)}px`, height: `${topOf(i + 1) - topOf(i)}px` }} data-testid={`log-line-${n}`}>
        <a class="log-n" href={`#L${n}`} tabIndex={-1} onClick={(event) => (event.preventDefault(), history.replaceState(null, "", `${location.pathname}${location.search}#L${n}`), setActive(n))}>
          {n}
        </a>
        {times && <span class="log-time">{(line.at ?? "").slice(11, 23)}</span>}
        {source && <span class="log-source" title={line.source}>{line.source}</span>}
        {heading && (
          <button type="button" class="fold" aria-expanded={!model.folded.has(n)} aria-label={`Section at line ${n}`} onClick={() => props.onFold(n)}>
            {model.folded.has(n) ? "▸" : "▾"}
          </button>
        )}
        <span class="log-text">
          <Runs line={line.text} />
        </span>
      </div>,
    );
  }
  return (
    <div class="log-box" ref={box} tabIndex={0} role="log" aria-label="Log lines" aria-live="off" onWheel={(event) => event.deltaY < 0 && props.onScrollUp()}>
      <div class="log-area" style={{ height: `${height}px` }}>
        {rows}
      </div>
    </div>
  );
}
