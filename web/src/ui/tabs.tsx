// SPDX-License-Identifier: Apache-2.0
// Tabs whose choice is in the address; arrow keys move between them as the ARIA pattern says.
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { useParam } from "../core/router";

export interface Tab {
  id: string;
  name: string;
  count?: number | undefined;
  body: () => ComponentChildren;
}

// Tabs with their panel. `param`: the parameter of the query that holds the choice.
export function Tabs({ tabs, param = "tab", label }: { tabs: Tab[]; param?: string; label: string }) {
  const [chosen, choose] = useParam(param, tabs[0]?.id ?? "");
  const list = useRef<HTMLDivElement>(null);
  const current = tabs.find((tab) => tab.id === chosen) ?? tabs[0];
  if (!current) return null;
  const move = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    event.preventDefault();
    const next = tabs[(tabs.indexOf(current) + step + tabs.length) % tabs.length]!;
    choose(next.id);
    list.current?.querySelector<HTMLElement>(`[data-tab="${next.id}"]`)?.focus();
  };
  return (
    <>
      <div role="tablist" aria-label={label} class="tabs" ref={list} onKeyDown={move}>
        {tabs.map((tab) => (
          <button
            type="button"
            role="tab"
            id={`${param}-${tab.id}`}
            data-tab={tab.id}
            data-testid={`tab-${tab.id}`}
            aria-selected={tab === current}
            aria-controls={`${param}-panel`}
            tabIndex={tab === current ? 0 : -1}
            onClick={() => choose(tab.id)}
          >
            {tab.name}
            {tab.count !== undefined && <span class="count">{tab.count}</span>}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${param}-panel`} aria-labelledby={`${param}-${current.id}`} class="tabpanel" key={current.id}>
        {current.body()}
      </div>
    </>
  );
}
