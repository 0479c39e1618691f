// The official TypeScript client at work: one conversation over HTTP, and what the ledger says about it afterwards.
//
// `node client.mjs KEN REPOSITORY ADDRESS TOKEN`
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [program, repository, address, token] = process.argv.slice(2);
const tools = ["ken_search", "ken_show", "ken_add", "ken_feedback", "ken_check"];
const claim = "Payouts are batched hourly, so a test that waits for one needs a clock it can move.";

function ken(...words) {
  const all = ["-C", repository, "--by", "human:ada@example.org", "--format", "json", ...words];
  const lines = execFileSync(program, all, { encoding: "utf8" }).split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line));
}

function connect(headers) {
  const client = new Client({ name: "typescript-client", version: "1" });
  const transport = new StreamableHTTPClientTransport(new URL(`http://${address}/mcp`), { requestInit: { headers } });
  return client.connect(transport).then(() => client);
}

await assert.rejects(connect({}), "nobody comes in without the token");
const client = await connect({ authorization: `Bearer ${token}` });

async function call(name, words) {
  const result = await client.callTool({ name, arguments: words });
  assert.ok(!result.isError, JSON.stringify(result));
  assert.equal(result.structuredContent, undefined, "text or JSON, never both");
  return result.content.map((block) => block.text).join("");
}

assert.deepEqual((await client.listTools()).tools.map((tool) => tool.name), tools);
const before = new Set(ken("list").map((entry) => entry.id));
const found = await call("ken_search", { query: "may a charge be repeated after a timeout" });
const shown = [...before].filter((id) => found.includes(id));
assert.notEqual(shown.length, 0, found);
await call("ken_add", { statement: claim, cites: ["test:payout_hourly"] });
await call("ken_add", { statement: claim, cites: ["test:payout_hourly"] });
const [added, ...more] = ken("list").filter((entry) => !before.has(entry.id));
assert.equal(more.length, 0, "recorded once");
await call("ken_feedback", { id: shown[0], helpful: false });
const asked = await client.callTool({ name: "ken_show", arguments: { id: added.id, format: "json" } });
assert.equal(asked.structuredContent.id, added.id);
assert.deepEqual(asked.content, [], "JSON or text, never both");
await call("ken_check", { paths: ["src/pay.rs"] });
const { contents } = await client.readResource({ uri: `ken://entry/${added.id}` });
assert.ok(contents[0].text.includes("batched hourly"), JSON.stringify(contents));
const { messages } = await client.getPrompt({ name: "research", arguments: { task: "repeat a charge" } });
assert.notEqual(messages.length, 0);
await client.close();

assert.equal(ken("show", added.id)[0].created.by, "agent:typescript-client");
const runs = ken("run", "list").filter((run) => JSON.stringify(run).includes("agent:typescript-client"));
const open = runs.filter((run) => run.agents !== undefined);
assert.equal(open.length, 1, JSON.stringify(runs));
for (const id of [shown[0], added.id]) {
  assert.ok(JSON.stringify(open[0]).includes(id), `${id} was shown and nobody wrote it down`);
}
ken("run", "close", open[0].run, "--outcome", "failed");
assert.ok(ken("verify")[0].passes);
console.log("the TypeScript client: fine");
