// SPDX-License-Identifier: Apache-2.0
// The frame of all pages: navigation, connection, theme, help, and the page of the address.
import { useEffect, useState } from "preact/hooks";
import { problemOf, readSession, send } from "./core/api";
import { shortcuts, useShortcuts } from "./core/keys";
import { setTheme, theme, type Theme } from "./core/prefs";
import { base, href, navigate, usePlace } from "./core/router";
import { featureOf, SessionContext, useSession } from "./core/session";
import { startStream, useConnection } from "./core/stream";
import { span, useNow } from "./core/time";
import type { Session } from "./core/types";
import { findPage, pages, type Page } from "./pages";
import { Empty, To } from "./ui/basics";
import { Boundary } from "./ui/boundary";
import { Desk, Dialog } from "./ui/dialog";

// The whole console.
export function App() {
  const { path } = usePlace();
  const [session, setSession] = useState<Session | undefined>();
  const [problem, setProblem] = useState("");
  const load = () => {
    readSession().then(
      (value) => (setSession(value), setProblem("")),
      (error: unknown) => setProblem(problemOf(error)),
    );
  };
  useEffect(() => startStream(load), []);
  useEffect(() => {
    if (path !== "/login" && !session) load();
  }, [path]);
  if (path === "/login") return <Login onSession={(value) => (setSession(value), navigate(nextPlace()))} />;
  if (!session) return <main class="alone">{problem ? <Failed problem={problem} retry={load} /> : <p class="loading">Loading…</p>}</main>;
  return (
    <SessionContext.Provider value={session}>
      <Shell />
      <Desk />
    </SessionContext.Provider>
  );
}

function nextPlace(): string {
  const next = new URLSearchParams(location.search).get("next") ?? base;
  // "//host" and "/\\host" are other sites.
  return next.startsWith(base) && new URL(next, location.href).origin === location.origin ? next : base;
}

function Failed({ problem, retry }: { problem: string; retry: () => void }) {
  return (
    <div class="empty" role="alert">
      <p class="empty-title">{problem}</p>
      <button type="button" onClick={retry}>
        Try again
      </button>
    </div>
  );
}

function Shell() {
  const session = useSession();
  const { path } = usePlace();
  const [help, setHelp] = useState(false);
  const page = findPage(path);
  const visible = pages.filter((one) => one.nav && (!one.feature || featureOf(session, one.feature).present));
  useShortcuts([{ keys: "?", does: "this help", run: () => setHelp(true) }, ...visible.filter((one) => one.key).map((one) => ({ keys: `g ${one.key}`, does: one.title, run: () => navigate(href(one.path)) }))]);
  useEffect(() => {
    document.title = `${page?.page.title ?? "Not found"} · Athanor`;
  }, [page?.page.title]);
  const groups = [...new Set(visible.map((one) => one.nav!))];
  return (
    <div class="shell">
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), document.getElementById("main")?.focus())}>
        Skip to the content
      </a>
      <nav class="sidenav" aria-label="Pages">
        <To path="/" class="brand" title="Athanor console">
          <img src={`${base}assets/icon.svg`} alt="" />
          Athanor
        </To>
        {groups.map((group) => (
          <div key={group}>
            <h2>{group}</h2>
            {visible
              .filter((one) => one.nav === group)
              .map((one) => (
                <To key={one.id} path={one.path} data-testid={`nav-${one.id}`} {...(page?.page.id === one.id || page?.page.parent === one.id ? { "aria-current": "page" as const } : {})}>
                  {one.navTitle ?? one.title}
                </To>
              ))}
          </div>
        ))}
      </nav>
      <header class="topbar">
        <h1>{page?.page.title ?? "Not found"}</h1>
        <span class="grow" />
        {session.readOnly && <span class="badge idle">read-only</span>}
        <Live />
        {session.user && <span class="dim">{session.user}</span>}
        {session.auth === "token" && (
          <button type="button" class="quiet" onClick={() => void send("POST", "/logout").finally(() => navigate(href("/login")))}>
            Log out
          </button>
        )}
        <ThemeChoice />
        <button type="button" class="quiet" onClick={() => setHelp(true)} aria-label="Keys and help">
          ?
        </button>
      </header>
      <main id="main" tabIndex={-1}>
        <Stale />
        {page ? (
          <Boundary key={page.page.id + page.args.join("/")}>
            <Body page={page.page} args={page.args} />
          </Boundary>
        ) : (
          <Empty title={`There is no page ${path}`} hint="The navigation on the left lists all pages." />
        )}
      </main>
      {help && <Help onClose={() => setHelp(false)} />}
    </div>
  );
}

function Body({ page, args }: { page: Page; args: string[] }) {
  const session = useSession();
  const feature = page.feature ? featureOf(session, page.feature) : undefined;
  if (feature && !feature.present) return <Empty title={`${page.title}: not on this cluster`} hint={feature.reason ?? "Its kinds are not installed."} />;
  return <page.Body args={args} />;
}

function Live() {
  const connection = useConnection();
  const on = connection.open && connection.server;
  return (
    <span class={`live${on ? "" : " off"}`} role="status">
      <span class="dot" aria-hidden="true" />
      {on ? "live" : "no connection"}
    </span>
  );
}

// The banner of old data: shown when the stream has been down for more than five seconds.
function Stale() {
  const connection = useConnection();
  const now = useNow();
  const age = now - connection.since;
  if (connection.open && connection.server) return null;
  if (connection.server && age < 5000) return null;
  return (
    <p class="stale" role="alert" data-testid="stale-banner">
      ! {connection.open ? `The console lost its API server${connection.error ? `: ${connection.error}` : ""}.` : "The console does not answer."} What you see is {span(age)} old; it goes on by itself when the connection is back.
    </p>
  );
}

function ThemeChoice() {
  const [value, setValue] = useState<Theme>(theme());
  return (
    <select
      aria-label="Theme"
      value={value}
      onChange={(event) => {
        const chosen = event.currentTarget.value as Theme;
        setTheme(chosen);
        setValue(chosen);
      }}
    >
      <option value="system">system theme</option>
      <option value="dark">dark</option>
      <option value="light">light</option>
    </select>
  );
}

function Help({ onClose }: { onClose: () => void }) {
  const session = useSession();
  return (
    <Dialog title="Keys" onClose={onClose}>
      <div class="keys">
        {shortcuts().map((one) => (
          <>
            <span>
              {one.keys.split(" ").map((key) => (
                <>
                  <kbd>{key}</kbd>{" "}
                </>
              ))}
            </span>
            <span>{one.does}</span>
          </>
        ))}
        <kbd>Esc</kbd>
        <span>leave a field or a window</span>
      </div>
      <p class="dim">
        {session.version && `Athanor ${session.version} · `}
        <a href={`${base}assets/licences.txt`} target="_blank" rel="noopener" data-native>
          licences of libraries
        </a>
      </p>
      <div class="dialog-actions">
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}

function Login({ onSession }: { onSession: (session: Session) => void }) {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState("");
  const submit = async (event: Event) => {
    event.preventDefault();
    try {
      await send("POST", "/login", { token: token.trim() });
      onSession(await readSession());
    } catch (error) {
      setProblem(problemOf(error));
    }
  };
  return (
    <main class="alone">
      <form class="section login" onSubmit={(event) => void submit(event)}>
        <h1>Athanor console</h1>
        <label>
          Bearer token
          <input type="password" autocomplete="current-password" value={token} onInput={(event) => setToken(event.currentTarget.value)} required />
        </label>
        {problem && (
          <p class="notice bad" role="alert">
            ✕ {problem}
          </p>
        )}
        <button type="submit" class="primary">
          Log in
        </button>
        <p class="dim">
          A token of your own account: <code>kubectl create token NAME</code>
        </p>
      </form>
    </main>
  );
}
