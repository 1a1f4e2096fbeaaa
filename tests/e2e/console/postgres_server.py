# SPDX-License-Identifier: Apache-2.0
"""A PostgreSQL server of a test's own: Debian's, on a socket in a temporary folder, not as root."""

import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile
import urllib.parse

from support import DEADLINE, wait_for


def programs():
    """The folder of the newest server that is installed; None: there is none."""
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    return found[-1].parent if found else None


class PostgresServer:
    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
        self.bin = programs()
        self.wrapper = []
        if os.getuid() == 0:  # PostgreSQL does not run as root
            user = pwd.getpwnam("postgres")
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            self.wrapper = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
        self.process = None
        made = self._call(["initdb", "--no-sync", "--no-instructions", "-A", "trust", "-U", "athanor", "-E", "UTF8", "--locale=C.UTF-8", "-D", self.folder / "data"])
        assert made.returncode == 0, made.stdout + made.stderr
        self.start()
        self.sql("CREATE DATABASE console", database="postgres")

    @property
    def url(self):
        """As fournos-ui has it: with the driver of SQLAlchemy."""
        return f"postgresql+asyncpg://athanor:secret@/console?host={urllib.parse.quote(str(self.folder), safe='')}"

    def _call(self, command, **more):
        program, *arguments = command
        return subprocess.run([*self.wrapper, self.bin / program, *arguments], capture_output=True, text=True, timeout=DEADLINE, cwd=self.folder, **more)

    def start(self):
        with open(self.folder.parent / f"{self.folder.name}.log", "ab") as log:
            self.process = subprocess.Popen(
                [*self.wrapper, self.bin / "postgres", "-D", self.folder / "data", "-k", self.folder, *"-c listen_addresses= -c fsync=off -c shared_buffers=8MB -c max_connections=20 -c max_wal_size=64MB".split()],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                cwd=self.folder,
            )
        wait_for("PostgreSQL", lambda: self._psql("SELECT 1", "postgres").returncode == 0)

    def _psql(self, text, database):
        return self._call(["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", self.folder, "-U", "athanor", "-d", database, "-f", "-"], input=text)

    def sql(self, text, database="console"):
        """What statements print, one line for each row with | between columns."""
        done = self._psql(text, database)
        assert done.returncode == 0, done.stderr
        return done.stdout.rstrip("\n")

    def stop(self):
        """As a server that is shut down at once: clients lose their connections."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(DEADLINE)

    def close(self):
        if self.process is not None and self.process.poll() is None:
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.with_suffix(".log").unlink(missing_ok=True)
