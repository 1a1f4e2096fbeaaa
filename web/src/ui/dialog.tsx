// SPDX-License-Identifier: Apache-2.0
// Questions before an action and messages after it. The browser's <dialog> keeps the focus inside and closes on Escape.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { problemOf } from "../core/api";

// A modal window; `onClose` runs on Escape, too.
export function Dialog({ title, onClose, children, wide }: { title: string; onClose: () => void; children: ComponentChildren; wide?: boolean }) {
  const ref = useRef<HTMLDialogElement>(null);
  // Opened in the same turn as it is drawn: an Escape that comes at once closes it.
  useLayoutEffect(() => {
    const dialog = ref.current!;
    const before = document.activeElement as HTMLElement | null;
    if (!dialog.open) dialog.showModal();
    return () => before?.focus?.();
  }, []);
  return (
    <dialog ref={ref} class={wide ? "wide" : ""} aria-label={title} onCancel={(event) => (event.preventDefault(), onClose())} onClick={(event) => event.target === ref.current && onClose()}>
      <div class="dialog-body">
        <h2>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}

export interface Question {
  title: string;
  effect: string; // names the object and what happens to it
  action: string; // the text of the button
  danger?: boolean;
  fields?: ComponentChildren;
  run: () => Promise<string>; // returns the server's message
}

interface Note {
  id: number;
  tone: "good" | "bad";
  text: string;
}

let ask: (question: Question) => void = () => undefined;
let say: (tone: Note["tone"], text: string) => void = () => undefined;
let lastId = 0;

// Shows a confirmation; the action runs when it is accepted, and its result becomes a message.
export const confirm = (question: Question): void => ask(question);
// Shows a message for some seconds; errors stay until they are closed.
export const toast = (tone: "good" | "bad", text: string): void => say(tone, text);

// Runs an action without a question; its result becomes a message.
export async function perform(run: () => Promise<string>): Promise<boolean> {
  try {
    toast("good", await run());
    return true;
  } catch (error) {
    toast("bad", problemOf(error));
    return false;
  }
}

// Place of questions and messages: once in the page.
export function Desk() {
  const [question, setQuestion] = useState<Question | null>(null);
  const [busy, setBusy] = useState(false);
  const [notes, setNotes] = useState<Note[]>([]);
  ask = setQuestion;
  say = (tone, text) => {
    const id = ++lastId;
    setNotes((all) => [...all.slice(-4), { id, tone, text }]);
    if (tone === "good") setTimeout(() => setNotes((all) => all.filter((one) => one.id !== id)), 6000);
  };
  const accept = async () => {
    setBusy(true);
    const ended = await perform(question!.run);
    setBusy(false);
    if (ended) setQuestion(null);
  };
  return (
    <>
      {question && (
        <Dialog title={question.title} onClose={() => setQuestion(null)}>
          <p>{question.effect}</p>
          {question.fields}
          <div class="dialog-actions">
            <button type="button" onClick={() => setQuestion(null)}>
              Cancel
            </button>
            <button type="button" class={question.danger ? "danger" : "primary"} disabled={busy} onClick={() => void accept()} data-testid="confirm">
              {question.action}
            </button>
          </div>
        </Dialog>
      )}
      <div class="toasts" role="status" aria-live="polite">
        {notes.map((note) => (
          <div key={note.id} class={`toast ${note.tone}`} data-testid="toast">
            <span aria-hidden="true">{note.tone === "good" ? "✓" : "✕"}</span> {note.text}
            <button type="button" class="quiet" aria-label="Close message" onClick={() => setNotes((all) => all.filter((one) => one.id !== note.id))}>
              ×
            </button>
          </div>
        ))}
      </div>
    </>
  );
}
