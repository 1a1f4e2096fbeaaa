// SPDX-License-Identifier: Apache-2.0
// Locks of clusters: who holds which, until when, and which jobs wait behind it. Also the questions that change a lock.
import { useMemo, useState } from "preact/hooks";
import { act, route } from "../../core/api";
import { useData } from "../../core/data";
import { readPref, writePref } from "../../core/prefs";
import { useSession } from "../../core/session";
import { absolute, millis, parseSpan, serverNow, span, useNow } from "../../core/time";
import type { Listed, Lock } from "../../core/types";
import { Age, Badge, Empty, Left, Partial, Section, To } from "../../ui/basics";
import { confirm, Dialog, perform } from "../../ui/dialog";
import { NotifyMe, type Notice } from "../../ui/notify";
import { PlainTable } from "../../ui/table";

// A lock as a badge; other states than "Unlocked" have their holder.
export function LockBadge({ cluster, lock }: { cluster: string; lock: Lock | undefined }) {
  const state = lock?.state || "Unlocked";
  return <Badge state={state} testid={`lock-badge-${cluster}`} tone={state === "Held" ? "warn" : state === "Acquiring" ? "wait" : state === "Unlocked" ? "idle" : "bad"} />;
}

// The page.
export function LocksPage() {
  const session = useSession();
  const { data, error } = useData<Listed<Lock>>("/locks", ["locks", "clusters"]);
  const [asked, setAsked] = useState<Lock | undefined>();
  const locks = (data?.items ?? []).filter((lock) => lock.state !== "Unlocked");
  return (
    <>
      {error && <p class="notice bad">✕ {error.message}</p>}
      <Partial of={data} />
      <Notifications locks={locks} />
      {data && locks.length === 0 && <Empty title="No cluster is locked" hint="A lock keeps a cluster free for one person: jobs of others wait." command="athanor lock CLUSTER --for 2h" />}
      {locks.length > 0 && (
        <Section title="Locks" testid="table-locks">
          <PlainTable
            label="Locks"
            titles={["State", "Cluster", "Holder", "Since", "Expires", "Waits for", "Jobs behind it", ""]}
            rows={locks.map((lock) => [
              <LockBadge cluster={lock.cluster} lock={lock} />,
              <To path={`/clusters/${encodeURIComponent(lock.cluster)}`} class="name">
                {lock.cluster}
              </To>,
              lock.holder,
              <Age time={lock.since} suffix=" ago" />,
              <span title={absolute(lock.expires)}>
                <Left until={lock.expires} />
              </span>,
              <JobNames names={lock.waitsFor} />,
              <JobNames names={lock.blocks} />,
              session.readOnly ? "" : <LockButtons lock={lock} onChange={() => setAsked(lock)} />,
            ])}
          />
        </Section>
      )}
      {asked && <LockDialog cluster={asked.cluster} lock={asked} onClose={() => setAsked(undefined)} />}
    </>
  );
}

// Links to jobs, given as "namespace/name".
function JobNames({ names }: { names: string[] | undefined }) {
  if (!names?.length) return <span class="dim">none</span>;
  return (
    <>
      {names.slice(0, 4).map((one, i) => {
        const [ns, name = ""] = one.split("/");
        return (
          <>
            {i > 0 && ", "}
            <To path={`/jobs/${encodeURIComponent(name)}`} query={{ ns }}>
              {name}
            </To>
          </>
        );
      })}
      {names.length > 4 && <span class="dim"> and {names.length - 4} more</span>}
    </>
  );
}

// Buttons that lengthen, hand over and end a lock.
export function LockButtons({ lock, onChange }: { lock: Lock; onChange: () => void }) {
  const extend = (more: number) => {
    const left = Math.max(0, millis(lock.expires) - serverNow());
    return perform(() => act("PUT", `/clusters${route(lock.cluster)}/lock`, { owner: lock.holder, ttl: goDuration(left + more), transfer: false }));
  };
  return (
    <span class="buttons">
      {lock.expires && (
        <>
          <button type="button" onClick={() => void extend(36e5)}>
            +1 h
          </button>
          <button type="button" onClick={() => void extend(144e5)}>
            +4 h
          </button>
        </>
      )}
      <button type="button" onClick={onChange}>
        Change…
      </button>
      <button type="button" onClick={() => confirm(unlockQuestion(lock))} data-testid={`unlock-${lock.cluster}`}>
        Unlock
      </button>
    </span>
  );
}

function unlockQuestion(lock: Lock) {
  return {
    title: `Unlock ${lock.cluster}?`,
    effect: `${lock.cluster} is freed from ${lock.holder ?? "its holder"}. ${lock.blocks?.length ? `${lock.blocks.length} waiting jobs may start at once.` : "Waiting jobs may start at once."}`,
    action: "Unlock",
    danger: true,
    run: () => act("DELETE", `/clusters${route(lock.cluster)}/lock`),
  };
}

// Formats milliseconds as the API takes them: "2h30m".
export function goDuration(ms: number): string {
  const minutes = Math.max(1, Math.round(ms / 6e4));
  return minutes % 60 ? (minutes > 60 ? `${Math.floor(minutes / 60)}h${minutes % 60}m` : `${minutes}m`) : `${minutes / 60}h`;
}

// A form that locks a cluster, or changes a lock.
export function LockDialog({ cluster, lock, onClose }: { cluster: string; lock: Lock | undefined; onClose: () => void }) {
  const session = useSession();
  const now = useNow();
  const held = lock && lock.state !== "Unlocked" ? lock.holder : undefined;
  const [owner, setOwner] = useState(held ?? (session.user || readPref("lock.owner", "")));
  const [ttl, setTtl] = useState("2h");
  const length = parseSpan(ttl);
  const transfer = !!held && owner !== held;
  const submit = async (event: Event) => {
    event.preventDefault();
    writePref("lock.owner", owner);
    if (await perform(() => act("PUT", `/clusters${route(cluster)}/lock`, { owner, ttl, transfer }))) onClose();
  };
  return (
    <Dialog title={held ? `Lock of ${cluster}` : `Lock ${cluster}`} onClose={onClose}>
      <form class="form" onSubmit={(event) => void submit(event)}>
        <label>
          Owner
          <input value={owner} required onInput={(event) => setOwner(event.currentTarget.value)} data-testid="lock-owner" />
        </label>
        <label>
          Time
          <input value={ttl} required aria-invalid={Number.isNaN(length)} onInput={(event) => setTtl(event.currentTarget.value)} data-testid="lock-ttl" />
        </label>
        <span class="chips">
          {["1h", "2h", "4h", "8h", "24h"].map((one) => (
            <button type="button" class="chip" aria-pressed={ttl === one} onClick={() => setTtl(one)}>
              {one}
            </button>
          ))}
        </span>
        <p class={Number.isNaN(length) ? "bad-text" : "dim"}>{Number.isNaN(length) ? "Write a length like 90m, 2h or 1d." : `Ends ${absolute(new Date(now + length).toISOString())}`}</p>
        <p>
          {transfer ? `${held} loses the lock; ${owner || "the new owner"} gets it at once.` : held ? "The lock stays and gets the new end." : "Jobs that run there go on to their end; the lock is acquired when they are over. Jobs of others wait until it ends."}
        </p>
        <div class="dialog-actions">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class={transfer ? "danger" : "primary"} disabled={Number.isNaN(length) || !owner} data-testid="lock-submit">
            {transfer ? "Transfer" : held ? "Set the end" : "Lock"}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

// Returns the notices of locks that end within 15 minutes.
export function endingLocks(locks: Lock[], now: number): Notice[] {
  return locks.flatMap((lock) => {
    const left = millis(lock.expires) - now;
    return left > 0 && left < 9e5 ? [{ key: `${lock.cluster}${lock.expires}`, title: `The lock of ${lock.cluster} ends in ${span(left)}`, body: `Held by ${lock.holder ?? "an unknown holder"}` }] : [];
  });
}

function Notifications({ locks }: { locks: Lock[] }) {
  const now = useNow();
  const due = useMemo(() => endingLocks(locks, now), [locks, Math.floor(now / 1e4)]);
  return <NotifyMe pref="locks" label="Notify me 15 minutes before a lock ends, while this page is open" due={due} />;
}
