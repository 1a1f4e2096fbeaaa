# SPDX-License-Identifier: Apache-2.0
"""The commands of a page of docs/, and a shell that runs them as they stand there."""

import os
import re
import shutil

from support import ATHANOR, DEADLINE, KUBECTL, ROOT, run


def text_of(page):
    """The text of README.md, or of a page of docs/."""
    return (ROOT / ("README.md" if page == "README" else f"docs/{page}.md")).read_text(encoding="utf-8")


def commands_of(text):
    """The lines of `sh` blocks, and of `console` blocks those behind a prompt; lines that go on are one."""
    found = []
    for language, block in re.findall(r"^ *```(sh|console)\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE):
        lines = [line.strip() for line in block.replace("\\\n", " ").splitlines()]
        found += [line for line in lines if line] if language == "sh" else [line[2:] for line in lines if line.startswith("$ ")]
    return found


def inline_of(text):
    """Whole commands within the text; names of verbs alone, and what has an ellipsis, are no commands."""
    outside = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    spans = re.findall(r"`((?:kubectl|athanor|helm|scripts/\w+) [^`]+)`", outside)
    return [one for one in spans if len(one.split()) > 2 and "…" not in one and "..." not in one and "FILE" not in one]


def block_with(text, mark):
    (found,) = [commands_of(f"```sh\n{block}```") for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) if mark in block]
    return found


class Guide:
    """A shell with athanor and kubectl in its path, in a folder of its own which is also its HOME."""

    def __init__(self, folder, kubeconfig=None):
        self.folder = folder
        tools = folder / "bin"
        tools.mkdir(exist_ok=True)
        # `up` takes any free port; `controllers` serve on free ports, and end after a while as SIGTERM ends them.
        self.tool(
            tools / "athanor",
            f"""real={ATHANOR.resolve()}
case ${{1:-}} in
up) exec "$real" "$@" --port 0 ;;
controllers) case " $* " in *" --help "*) exec "$real" "$@" ;; *" --webhook-address "*) set -- "$@" --webhook-address=127.0.0.1:0 ;; esac
  exec timeout --preserve-status -s TERM 6 "$real" "$@" --metrics-address=127.0.0.1:0 ;;
esac
exec "$real" "$@"
""",
        )
        kubectl = shutil.which(KUBECTL)
        # A watch is looked at for a while.
        self.tool(
            tools / "kubectl",
            f"""case " $* " in *" -w "*) timeout 8 {kubectl} "$@" || [ $? = 124 ] ;; *) exec {kubectl} "$@" ;; esac
""",
        )
        for name in ("examples", "samples", "deploy"):
            if not (folder / name).is_symlink():
                (folder / name).symlink_to(ROOT / name)
        self.env = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "HOME": str(folder), "NO_COLOR": "1"}
        for name in ("KUBECONFIG", "ATHANOR_DATA", "XDG_STATE_HOME"):
            self.env.pop(name, None)
        if kubeconfig:
            self.env["KUBECONFIG"] = str(kubeconfig)

    @staticmethod
    def tool(path, text):
        path.write_text("#!/usr/bin/env bash\n" + text, encoding="utf-8")
        path.chmod(0o755)

    def run(self, commands, **replaced):
        """All of them in one shell that ends at the first failure. A lab in the background is waited for, and ended with the shell."""
        script = ["set -euo pipefail", "trap 'rc=$?; set +ex; kill $(jobs -p) 2>/dev/null; wait; exit $rc' EXIT", "PS4='+ '", "set -x"]
        for command in commands:
            for old, new in replaced.items():
                command = command.replace(old, new)
            script.append(command)
            if re.match(r"\S*athanor up\b.*&$", command):
                data = re.search(r"--data (\S+)", command)
                folder = data.group(1) if data else "~/.local/state/athanor"
                ready = f"kubectl --kubeconfig {folder}/admin.kubeconfig get --raw /readyz"
                script.append(f"for i in $(seq {int(DEADLINE)}); do sleep 1; {ready} && break; done >/dev/null 2>&1")
        done = run(["bash", "-c", "\n".join(script)], env=self.env, cwd=self.folder, timeout=900)
        assert done.code == 0, done.out[-3000:] + done.err[-4000:]
        return done
