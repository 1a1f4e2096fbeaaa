// SPDX-License-Identifier: Apache-2.0
// Small parts that every page uses: links, times, badges, bars, empty states.
import type { ComponentChildren } from "preact";
import { href } from "../core/router";
import { absolute, ageOf, millis, span, useNow } from "../core/time";

type Query = Record<string, string | null | undefined>;

// A link to a page of the console.
export function To({ path, query, children, ...rest }: { path: string; query?: Query; children: ComponentChildren; class?: string; title?: string; "aria-current"?: "page"; "data-testid"?: string; tabIndex?: number }) {
  return (
    <a href={href(path, query)} {...rest}>
      {children}
    </a>
  );
}

// A link to another site: only http and https become links (docs/spec/dashboard.md B9 X8).
export function Away({ url, children }: { url: string; children?: ComponentChildren }) {
  if (!isWebAddress(url)) return <span>{children ?? url}</span>;
  return (
    <a href={url} target="_blank" rel="noopener noreferrer">
      {children ?? url}
      <span class="away" aria-hidden="true"> ↗</span>
    </a>
  );
}

// Returns true for an absolute http or https address.
export function isWebAddress(url: string): boolean {
  try {
    return ["http:", "https:"].includes(new URL(url).protocol);
  } catch {
    return false;
  }
}

// An age that counts, with the absolute time on hover.
export function Age({ time, suffix = "" }: { time?: string | null | undefined; suffix?: string }) {
  const now = useNow();
  if (!time) return <span class="dim">–</span>;
  return (
    <time dateTime={time} title={absolute(time)}>
      {ageOf(time, now)}
      {suffix}
    </time>
  );
}

// The time left until a moment, counting down.
export function Left({ until }: { until?: string | null | undefined }) {
  const now = useNow();
  if (!until) return <span class="dim">no end</span>;
  const left = millis(until) - now;
  return (
    <time dateTime={until} title={absolute(until)} class={left < 36e5 ? "soon" : ""}>
      {left <= 0 ? "expired" : `${span(left)} left`}
    </time>
  );
}

// A length of time that counts from `from` until `to` is known.
export function Lasted({ from, to }: { from?: string | null | undefined; to?: string | null | undefined }) {
  const now = useNow();
  if (!from) return <span class="dim">–</span>;
  return <span title={`${absolute(from)} to ${to ? absolute(to) : "now"}`}>{span((to ? millis(to) : now) - millis(from))}</span>;
}

export type Tone = "good" | "bad" | "warn" | "busy" | "wait" | "idle";

const tones: Record<string, Tone> = {
  Valid: "good", Missing: "bad", DiscoveryFailed: "bad", Expired: "bad",
  Succeeded: "good", Completed: "good", Ready: "good", Active: "good", True: "good", Healthy: "good", Finished: "good", Bound: "good", Fits: "good",
  Failed: "bad", Error: "bad", NotReady: "bad", Invalid: "bad", Unreachable: "bad", Terminated: "bad", Orphaned: "bad", Degraded: "bad", Lost: "bad", CrashLoopBackOff: "bad",
  Stopped: "idle", Cancelled: "idle", Skipped: "idle", Paused: "idle", Free: "idle", Archived: "idle", Unknown: "idle", Absent: "idle", Suspended: "idle",
  Running: "busy", Admitted: "busy", Resolving: "busy", Deploying: "busy", Resuming: "busy", InUse: "busy", Processing: "busy", Started: "busy", Held: "busy", Locked: "busy",
  Pending: "wait", Queued: "wait", Acquiring: "wait", Waiting: "wait", Releasing: "wait", Stopping: "warn", Stale: "warn", Draining: "warn", Cordoned: "warn", Resetting: "warn", Suspending: "warn", Inactive: "warn", Retrying: "warn", Warning: "warn",
};
const marks: Record<Tone, string> = { good: "✓", bad: "✕", warn: "!", busy: "▶", wait: "…", idle: "–" };

// Returns the tone of a state's name.
export function toneOf(state: string): Tone {
  return Object.hasOwn(tones, state) ? tones[state]! : "idle";
}

// A state as colour, mark and text.
export function Badge({ state, tone, testid, title }: { state: string; tone?: Tone; testid?: string; title?: string }) {
  const kind = tone ?? toneOf(state);
  return (
    <span class={`badge ${kind}`} data-testid={testid} title={title}>
      <span aria-hidden="true" class="mark">{marks[kind]}</span>
      {state}
    </span>
  );
}

// The phase of a job.
export function Phase({ phase }: { phase: string }) {
  return <Badge state={phase} testid="phase-badge" />;
}

export interface Part {
  value: number;
  tone: "used" | "reserved" | "borrowed" | "free";
  name: string;
}

// A bar of parts of a whole, with its numbers as text for those who do not see it.
export function Bar({ parts, total, label, mark }: { parts: Part[]; total: number; label: string; mark?: number }) {
  const whole = Math.max(total, parts.reduce((sum, part) => sum + part.value, 0), 1e-9);
  let at = 0;
  return (
    <svg class="bar" role="img" aria-label={label} viewBox="0 0 100 8" preserveAspectRatio="none">
      <title>{label}</title>
      <rect class="bar-free" x="0" y="0" width="100" height="8" />
      {parts.map((part) => {
        const width = (100 * part.value) / whole;
        const x = at;
        at += width;
        return <rect class={`bar-${part.tone}`} x={x} y="0" width={width} height="8" />;
      })}
      {mark !== undefined && mark < whole && <rect class="bar-mark" x={(100 * mark) / whole - 0.15} y="0" width="0.3" height="8" />}
    </svg>
  );
}

// Says that the numbers of an answer count only what the viewer may see (docs/spec/dashboard.md B9 X2).
export function Partial({ of }: { of: { partial?: boolean } | undefined }) {
  return of?.partial ? (
    <p class="notice warn" data-testid="partial">
      ! Partial: numbers count only what you may see.
    </p>
  ) : null;
}

// A list without rows: what would fill it, and the command that does.
export function Empty({ title, hint, command }: { title: string; hint?: string; command?: string }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {hint && <p>{hint}</p>}
      {command && <Command text={command} />}
    </div>
  );
}

// A command with a button that copies it.
export function Command({ text }: { text: string }) {
  return (
    <div class="command">
      <code>{text}</code>
      <button type="button" class="quiet" onClick={() => void navigator.clipboard?.writeText(text)} aria-label={`Copy: ${text}`}>
        Copy
      </button>
    </div>
  );
}

// A titled part of a page.
export function Section({ title, note, actions, children, testid }: { title: string; note?: ComponentChildren; actions?: ComponentChildren; children: ComponentChildren; testid?: string }) {
  return (
    <section class="section" aria-label={title} data-testid={testid}>
      <div class="section-head">
        <h2>{title}</h2>
        {note && <span class="dim">{note}</span>}
        {actions && <span class="actions">{actions}</span>}
      </div>
      {children}
    </section>
  );
}

// Pairs of a name and a value; pairs without a value are left out.
export function Facts({ facts, names = "short" }: { facts: [string, ComponentChildren][]; names?: "short" | "long" }) {
  const shown = facts.filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false);
  return (
    <dl class={`facts${names === "long" ? " long-names" : ""}`}>
      {shown.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
