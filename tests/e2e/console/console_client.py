# SPDX-License-Identifier: Apache-2.0
"""A client of the console's JSON API."""

import http.client
import json
import re

from support import wait_for


class Console:
    """Requests to a console; `started` has its output: a lab, or a process of `athanor console`."""

    def __init__(self, started):
        found = wait_for("the console's address", lambda: re.search(r"console: http://127\.0\.0\.1:(\d+)/", started.out))
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
