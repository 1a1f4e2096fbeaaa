// SPDX-License-Identifier: Apache-2.0
// The choice of a cluster, with what is free there now and how long runs of the project wait there.
import { useData } from "../../core/data";
import { seconds } from "../../core/time";
import type { FormView } from "../../core/types";
import { Badge } from "../../ui/basics";
import { Field } from "./fields";

interface Waits {
  groups?: { by: string; key: string; waitMedianSeconds?: number }[];
}

// The chooser.
export function ClusterChoice({ form, value, onValue, error }: { form: FormView; value: string; onValue: (value: string) => void; error?: string | undefined }) {
  const waits = useData<Waits>("/insights?range=7d");
  const clusters = form.clusters ?? [];
  const waitOf = (name: string) => waits.data?.groups?.find((one) => one.by === "cluster" && one.key === name)?.waitMedianSeconds;
  if (!clusters.length) {
    return (
      <Field label="Cluster" error={error} hint="Without a cluster the job takes the first one with the GPUs.">
        <input value={value} onInput={(event) => onValue(event.currentTarget.value)} />
      </Field>
    );
  }
  return (
    <fieldset class={`choices${error ? " wrong" : ""}`}>
      <legend>Cluster</legend>
      <label class="choice">
        <input type="radio" name="cluster" checked={value === ""} onChange={() => onValue("")} />
        <span>
          any with the GPUs below
        </span>
      </label>
      {clusters.map((one) => (
        <label class="choice" key={one.name}>
          <input type="radio" name="cluster" checked={value === one.name} onChange={() => onValue(one.name)} />
          <span class="choice-name">{one.name}</span>
          {one.state && !["Valid", "Unmanaged"].includes(one.state) && <Badge state={one.state} tone="warn" />}
          {one.locked && <Badge state="locked" tone="warn" />}
          <span class="dim">
            {Object.entries(one.freeGpus ?? {})
              .filter(([, free], _, all) => free > 0 || all.length === 1)
              .map(([type, free]) => `${free} ${type} free`)
              .join(", ")}
            {waitOf(one.name) !== undefined && ` · waits ${seconds(waitOf(one.name))} (median)`}
          </span>
        </label>
      ))}
      {error && (
        <p class="bad-text" role="alert">
          {error}
        </p>
      )}
    </fieldset>
  );
}
