// SPDX-License-Identifier: Apache-2.0
// The form that adds an emulated node to a lab.
import { useState } from "preact/hooks";
import { act, ApiError } from "../../core/api";
import type { NodeRow } from "../../core/types";
import { Dialog, toast } from "../../ui/dialog";
import { Field } from "../submit/fields";

// Returns the amounts of a text such as "cpu=8, nvidia.com/gpu=4"; a part without "=" is of its own name.
export function readAmounts(text: string): Record<string, string> {
  const parts = text.split(",").map((part) => part.trim()).filter((part) => part);
  return Object.fromEntries(parts.map((part) => { const at = part.indexOf("="); return at < 0 ? [part, ""] : [part.slice(0, at).trim(), part.slice(at + 1).trim()]; }));
}

// The dialog; `models` are nodes that the new one may resemble.
export function AddNode({ models, onClose }: { models: NodeRow[]; onClose: () => void }) {
  const [name, setName] = useState("");
  const [like, setLike] = useState("");
  const [amounts, setAmounts] = useState("");
  const [problem, setProblem] = useState<{ field?: string | undefined; message: string } | undefined>();
  const wrong = (field: string) => (problem?.field === field ? problem.message : undefined);
  const submit = async (event: Event) => {
    event.preventDefault();
    try {
      toast("good", await act("POST", "/nodes", { name, ...(like ? { like } : {}), capacity: readAmounts(amounts) }));
      onClose();
    } catch (error) {
      const failure = error as ApiError;
      setProblem({ field: failure.field, message: failure.message });
    }
  };
  return (
    <Dialog title="Add an emulated node" onClose={onClose}>
      <form class="form" onSubmit={(event) => void submit(event)}>
        <Field label="Name" required error={wrong("name")} hint="Lower case letters, digits, - and .">
          <input value={name} required onInput={(event) => setName(event.currentTarget.value)} data-testid="node-name" />
        </Field>
        <Field label="Like" error={wrong("like")} hint="Labels, taints, zones and capacity of this node.">
          <select value={like} onChange={(event) => setLike(event.currentTarget.value)} data-testid="node-like">
            <option value="">no other node</option>
            {models.map((one) => (
              <option key={one.name}>{one.name}</option>
            ))}
          </select>
        </Field>
        <Field label="Capacity" error={wrong("capacity")} hint="Such as cpu=8, memory=32Gi, nvidia.com/gpu=4. Without: 16 CPUs, 64Gi, 1000 pods.">
          <input value={amounts} onInput={(event) => setAmounts(event.currentTarget.value)} data-testid="node-capacity" />
        </Field>
        {problem && !["name", "like", "capacity"].includes(problem.field ?? "") && (
          <p class="notice bad" role="alert">
            ✕ {problem.message}
          </p>
        )}
        <div class="dialog-actions">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary">
            Add
          </button>
        </div>
      </form>
    </Dialog>
  );
}
