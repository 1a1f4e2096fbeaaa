# SPDX-License-Identifier: Apache-2.0
"""A client of the console's JSON API."""

import http.client
import json
import os
import re
import subprocess

from support import ATHANOR, DEADLINE, wait_for


class Console:
    """Requests to a console; `started` has its output: a lab, or a process of `athanor console`."""

    def __init__(self, started):
        found = wait_for("the console's address", lambda: re.search(r"console: .*127\.0\.0\.1:(\d+)", started.out))
        self.port = int(found.group(1))
        self.host = f"127.0.0.1:{self.port}"

    def request(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        sent = {"Host": self.host}
        if method != "GET":
            sent["Origin"] = f"http://{self.host}"
        if isinstance(body, dict):
            body = json.dumps(body)
            sent["Content-Type"] = "application/json"
        sent.update(headers or {})
        connection.request(method, path, body=body, headers=sent)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer, data

    def get(self, path):
        answer, data = self.request("GET", path)
        assert answer.status == 200, (path, answer.status, data[:500])
        return json.loads(data)


class ConsoleProcess(Console):
    """`athanor console` on a port of its own."""

    def __init__(self, lab, folder, *arguments, wrapper=(), **environment):
        self.out_path, self.err_path = folder / "console.out", folder / "console.err"
        kept = {name: value for name, value in os.environ.items() if not name.startswith("CONSOLE_")}
        with open(self.out_path, "wb") as out, open(self.err_path, "wb") as err:
            self.process = subprocess.Popen(
                [*wrapper, ATHANOR, "console", "--address", "127.0.0.1:0", "--data", folder, "--kubeconfig", lab.kubeconfig, *arguments],
                stdout=out,
                stderr=err,
                stdin=subprocess.DEVNULL,
                env={**kept, **environment},
            )
        try:
            super().__init__(self)
        except BaseException:
            self.stop()
            raise

    @property
    def out(self):
        assert self.process.poll() is None, self.err
        return self.out_path.read_text(encoding="utf-8")

    @property
    def err(self):
        return self.err_path.read_text(encoding="utf-8", errors="replace")

    def stop(self):
        self.process.terminate()
        return self.process.wait(DEADLINE)
