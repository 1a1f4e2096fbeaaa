# SPDX-License-Identifier: Apache-2.0
"""One `athanor controllers` of a test: its process, its log, its endpoints."""

import http.client
import re
import signal
import subprocess

from support import DEADLINE


class Replica:
    def __init__(self, command, log, **popen):
        self.log = log
        with open(log, "wb") as out:
            self.process = subprocess.Popen([str(one) for one in command], stdin=subprocess.DEVNULL, stdout=out, stderr=out, **popen)

    @property
    def text(self):
        return self.log.read_text(encoding="utf-8", errors="replace")

    def ask(self, path):
        """(status, body) of its plain endpoints."""
        assert self.process.poll() is None, self.text[-2000:]
        port = "metrics are" if '"metrics are served"' in self.text else "health is"
        address = re.search(rf'"{port} served".*?"address":"([^"]+)"', self.text)
        assert address, f"no address yet: {self.text[-2000:]}"
        connection = http.client.HTTPConnection(address.group(1), timeout=DEADLINE)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def get(self, path):
        status, body = self.ask(path)
        assert status == 200, body
        return body

    def ready(self):
        return self.ask("/readyz")[0] == 200

    def leads(self):
        return re.search(r"^leader_election_master_status\{[^}]*\} 1$", self.get("/metrics"), re.M) is not None

    def denied(self):
        """Requests that were refused for lack of a right."""
        return re.findall(r'^rest_client_requests_total\{[^}]*code="40[13]".*$', self.get("/metrics"), re.M)

    def end(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(DEADLINE)
