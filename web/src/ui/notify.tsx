// SPDX-License-Identifier: Apache-2.0
// Notifications of the browser, for what a person waits for while the page is in the background.
import { useEffect, useRef, useState } from "preact/hooks";
import { readPref, writePref } from "../core/prefs";

// Shows a notification once for each `key`.
export interface Notice {
  key: string;
  title: string;
  body: string;
}

// A check box that asks for permission, and the notifications that are due while it is on.
export function NotifyMe({ pref, label, due }: { pref: string; label: string; due: Notice[] }) {
  const there = typeof Notification !== "undefined";
  const [on, setOn] = useState<boolean>(() => there && Notification.permission === "granted" && readPref<boolean>(`notify.${pref}`, false));
  const shown = useRef(new Set<string>());
  useEffect(() => {
    if (!on) return;
    for (const one of due) {
      if (shown.current.has(one.key)) continue;
      shown.current.add(one.key);
      new Notification(one.title, { body: one.body, tag: one.key });
    }
  }, [on, due]);
  if (!there) return null;
  const change = async () => {
    const next = !on && (await Notification.requestPermission()) === "granted";
    setOn(next);
    writePref(`notify.${pref}`, next);
  };
  return (
    <label class="inline notify">
      <input type="checkbox" checked={on} onChange={() => void change()} /> {label}
    </label>
  );
}
