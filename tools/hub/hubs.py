"""Hubs on throw-away PostgreSQL servers, for the experiments of this folder.

Everything runs on loopback. A server and a hub end with the program that started them.
"""

import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

TOOLS = pathlib.Path(__file__).resolve().parent.parent
QUESTION = "how often to retry idempotent requests"
# Seconds in which a hub has to listen.
STARTUP = 30
CHECKS = []
QUIET = False


def check(what, holds):
    CHECKS.append((what, bool(holds)))
    if not QUIET or not holds:
        print(f"  {'ok' if holds else 'FAILED'}  {what}")


def title(text):
    if not QUIET:
        print(f"\n{text}")


class Postgres:
    """A server that ends with this program."""

    def __init__(self):
        started = subprocess.run([TOOLS / "pg.sh", "start"], check=True, capture_output=True, text=True)
        self.settings = dict(re.findall(r"(\w+)=(\S+)", started.stdout))

    def sql(self, text, database="postgres"):
        psql = pathlib.Path(self.settings["PGBIN"]) / "psql"
        words = ["-XAtq", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", self.settings["PGPORT"], "-U", "postgres",
                 "-d", database, "-c", text]
        return subprocess.run([psql, *words], check=True, capture_output=True, text=True).stdout

    def database(self, name):
        self.sql(f"CREATE DATABASE {name}")
        return f"postgres://postgres@127.0.0.1:{self.settings['PGPORT']}/{name}"

    def stop(self):
        subprocess.run([TOOLS / "pg.sh", "stop", self.settings["PGDATA"]], check=False, capture_output=True)


class Hub:
    """One organization with a database, a hub process, a key and a person."""

    def __init__(self, root, name, ken, postgres, env=None):
        self.name, self.ken_path, self.postgres = name, ken, postgres
        self.root = root / name
        self.root.mkdir()
        self.database_name, self.database = name, postgres.database(name)
        self.env = {"PATH": os.environ["PATH"], "HOME": str(self.root), "NO_COLOR": "1",
                    "KEN_DATABASE_URL": self.database, "KEN_ACTOR": f"human:olga@{name}.example", **(env or {})}
        self.hub("migrate")
        self.hub("organization", "add", name)
        self.hub("workspace", "add", name, "shop")
        self.key = self.root / "key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(self.key)], check=True)
        self.curator = self.token("curator", f"human:ada@{name}.example")
        self.member = self.token("member", f"human:mel@{name}.example")
        self.agent = self.token("agent", "agent:finder")
        self.pipeline = self.token("curator", "ci:main")
        self.process = None
        self.start()

    def start(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen(
            [self.ken_path, "serve", "--bind", f"127.0.0.1:{port}", "--log", "quiet"],
            env=self.env, cwd=self.root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + STARTUP
        while time.monotonic() < deadline:
            try:
                if self.request("GET", "/readyz")[0] == 200:
                    return
            except OSError:
                pass
            time.sleep(0.1)
        sys.exit(f"the hub of {self.name} did not start")

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait(timeout=30)

    def run(self, *words, env=None):
        return subprocess.run([self.ken_path, "hub", *words], env={**self.env, **(env or {})}, cwd=self.root,
                              capture_output=True, text=True)

    def hub(self, *words, env=None):
        done = self.run(*words, env=env)
        if done.returncode != 0:
            sys.exit(f"{self.name}: ken hub {' '.join(map(str, words))}: {done.stderr}")
        return done.stdout

    def objects(self, *words):
        return [json.loads(line) for line in self.hub(*words, "--format", "json").splitlines()]

    def token(self, role, actor):
        return self.hub("token", "create", self.name, "--role", role, "--actor", actor).split()[0]

    def request(self, method, path, token=None, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, method=method)
        if token:
            request.add_header("authorization", f"Bearer {token}")
        if data is not None:
            request.add_header("content-type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def json(self, method, path, token=None, body=None):
        status, text = self.request(method, path, token, body)
        if status >= 300:
            sys.exit(f"{self.name}: {method} {path}: {status} {text}")
        return json.loads(text)

    def teach(self, statement, tag="rust/async"):
        """Adds an entry by an agent, which a person confirms and promotes to the organization."""
        added = self.json("POST", "/v1/workspaces/shop/entries", self.agent, {
            "kind": "learning", "statement": statement, "tags": [tag],
            "cites": ["commit:3fce3b5"]})
        id = added["id"] if "id" in added else added["entry"]["id"]
        self.json("POST", f"/v1/workspaces/shop/entries/{id}/confirm", self.curator, {})
        entry = self.json("GET", f"/v1/workspaces/shop/entries/{id}", self.curator)
        self.json("POST", f"/v1/workspaces/shop/promotions/{id}/approve", self.curator,
                  {"artifact": entry["artifact"], "despite": True})
        return id

    def publish(self, *ids):
        self.hub("publication", "allow", self.name, "partners", *ids)
        return self.update()

    def update(self):
        return self.objects("publication", "update", self.name, "partners", "--key", str(self.key))[0]

    def publication(self):
        return self.objects("publication", "list", self.name)[0]

    def file(self, name, token=None):
        return self.request("GET", f"{self.publication()['path']}/{name}", token)

    def all_files(self, token=None):
        texts = [self.file(name, token)[1] for name in ("publication.json", "head.json", "orders.jsonl")]
        epoch, last = self.publication()["place"]
        texts += [self.file(f"{epoch}/{number}.json", token)[1] for number in range(1, last + 1)]
        return "".join(texts)

    def subscribe(self, other, *more):
        place = other.publication()
        return self.run("peer", "add", self.name, other.name, other.url + place["path"], "--key", place["fingerprint"], *more)

    def pull(self, other):
        return self.objects("peer", "pull", self.name, other.name)[0]

    def peer(self, other):
        return self.objects("peer", "show", self.name, other.name)[0]

    def waiting(self, other):
        return self.json("GET", f"/v1/peers/{other.name}/entries", self.curator)["items"]

    def approve(self, other, items, token=None):
        entries = [{"id": it["id"], "artifact": it["artifact"]} for it in items]
        return self.request("POST", f"/v1/peers/{other.name}/approve", token or self.curator, {"entries": entries})

    def search(self, query=QUESTION):
        return self.json("POST", "/v1/workspaces/shop/search", self.agent, {"query": query, "budget": 2000})

    def foreign(self, query=QUESTION):
        return self.search(query).get("peers", [])

    def rows_with(self, text):
        tables = self.postgres.sql("SELECT relname FROM pg_class WHERE relnamespace = 'ken'::regnamespace AND relkind IN "
                                   "('r', 'p') AND NOT relispartition", self.database_name).split()
        query = "SELECT count(*) FROM ken.{} t WHERE t::text LIKE '%{}%'"
        count = lambda table: int(self.postgres.sql(query.format(table, text), self.database_name))
        return {table for table in tables if count(table)}


def policy(audience):
    return ["--topic", "rust", "--license", "CC-BY-4.0", "--audience", audience, "--never", "falcon"]
