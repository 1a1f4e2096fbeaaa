// SPDX-License-Identifier: Apache-2.0
// An object as YAML, read-only, with its keys set off and a button that copies it.
import { useEffect, useState } from "preact/hooks";
import { toYaml } from "../core/yaml";

// Splits a line of YAML into its indentation, key and value; lines inside of texts have no key.
export function splitLine(line: string): { lead: string; key: string; rest: string } {
  const match = /^(\s*(?:- )*)("[^"]*"|'[^']*'|[^\s"'#][^:]*?)(:)(\s.*|$)/.exec(line);
  return match ? { lead: match[1]!, key: match[2]! + match[3]!, rest: match[4]! } : { lead: "", key: "", rest: line };
}

// The YAML of `value`.
export function YamlView({ value, label }: { value: unknown; label: string }) {
  const [text, setText] = useState("");
  useEffect(() => {
    let ended = false;
    void toYaml(value).then((yaml) => !ended && setText(yaml));
    return () => void (ended = true);
  }, [value]);
  return (
    <div class="yaml">
      <button type="button" class="copy" onClick={() => void navigator.clipboard?.writeText(text)}>
        Copy
      </button>
      <pre tabIndex={0} aria-label={label}>
        {text.split("\n").map((line) => {
          const { lead, key, rest } = splitLine(line);
          return (
            <span class="yaml-line">
              {lead}
              {key && <span class="yaml-key">{key}</span>}
              {rest}
              {"\n"}
            </span>
          );
        })}
      </pre>
    </div>
  );
}
