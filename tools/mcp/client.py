"""The official Python client at work: one conversation over stdio, and what the ledger says about it afterwards.

`python client.py KEN REPOSITORY`
"""

import asyncio
import json
import subprocess
import sys

from mcp import Client, Implementation, StdioServerParameters

KEN, REPOSITORY = sys.argv[1:3]
TOOLS = ["ken_search", "ken_show", "ken_add", "ken_feedback", "ken_check"]
CLAIM = "Refunds are idempotent by order id, so retrying one is safe."


def ken(*arguments):
    """Returns what a command answers, one object a line."""
    command = [KEN, "-C", REPOSITORY, "--by", "human:ada@example.org", "--format", "json", *arguments]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in answer.splitlines()]


def text(result):
    assert not result.is_error, result
    assert result.structured_content is None, "text or JSON, never both"
    return "".join(block.text for block in result.content)


async def converse():
    server = StdioServerParameters(command=KEN, args=["mcp"], cwd=REPOSITORY)
    who = Implementation(name="python-client", version="1")
    async with Client(server, client_info=who) as client:
        assert client.protocol_version == "2026-07-28", client.protocol_version
        assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS
        known = text(await client.call_tool("ken_search", {"query": "may a charge be repeated after a timeout"}))
        (shown,) = ken("list")
        assert shown["id"] in known, known
        record = {"statement": CLAIM, "cites": ["test:refund_twice"], "anchors": ["src/pay.rs"]}
        first = text(await client.call_tool("ken_add", record))
        assert text(await client.call_tool("ken_add", record)), "asking again is no error"
        (added,) = [entry for entry in ken("list") if entry["id"] != shown["id"]]
        assert added["id"] in first, first
        text(await client.call_tool("ken_feedback", {"id": shown["id"], "helpful": True}))
        assert CLAIM in text(await client.call_tool("ken_show", {"id": added["id"]}))
        text(await client.call_tool("ken_check", {"paths": ["src/pay.rs"]}))
        wrong = await client.call_tool("ken_show", {"id": "../../etc/passwd"})
        assert wrong.is_error, "a path is no id"
        briefing = await client.read_resource("ken://briefing")
        assert briefing.contents[0].text
        prompts = [prompt.name for prompt in (await client.list_prompts()).prompts]
        assert prompts == ["research", "review", "capture"], prompts
        return shown["id"], added["id"]


def check(shown, added):
    """Holds the ledger and the run against what happened."""
    entry = ken("show", added)[0]
    assert entry["created"]["by"] == "agent:python-client", entry["created"]
    assert entry["status"]["value"] == "candidate", entry["status"]
    (run,) = [run for run in ken("run", "list") if run.get("state") == "open" or "agents" in run]
    agents = json.dumps(run)
    assert "agent:python-client" in agents, run
    for seen in (shown, added):
        assert seen in agents, f"{seen} was shown and nobody wrote it down: {run}"
    ken("run", "close", run["run"], "--outcome", "succeeded")
    history = json.dumps(ken("log", shown))
    assert "agent:python-client" in history, history
    (verified,) = ken("verify")
    assert verified["passes"], verified


check(*asyncio.run(converse()))
print("the Python client: fine")
