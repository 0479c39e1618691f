// Ken's hooks for opencode: every moment of a conversation runs `ken hook opencode MOMENT` with JSON on its standard input, and
// what Ken answers is added to what the model is told. Ken being slow, broken or not installed never holds up the work.
import { spawn } from "node:child_process"

type Moment = "start" | "prompt" | "tool" | "failure" | "subagent" | "stop" | "end"

/** Milliseconds Ken has to answer. */
const WAIT_MS = 10_000
/** Characters of a tool's output that Ken is told. */
const OUTPUT_CHARS_MAX = 20_000

/** What the model is told in one conversation. */
type Told = { briefing?: string; latest: string[]; failures: Set<string>; parent?: string }

function contextOf(answer: string): string {
  const text = answer.trim()
  if (!text.startsWith("{")) return text
  try {
    const said = JSON.parse(text)
    const context = said.hookSpecificOutput?.additionalContext ?? said.additional_context ?? said.context
    return typeof context === "string" ? context : ""
  } catch {
    return ""
  }
}

function ken(moment: Moment, cwd: string, session: string, more: Record<string, unknown> = {}): Promise<string> {
  return new Promise((resolve) => {
    let answer = ""
    const child = spawn("ken", ["hook", "opencode", moment], { cwd, stdio: ["pipe", "pipe", "ignore"] })
    const timer = setTimeout(() => child.kill(), WAIT_MS)
    const done = (text: string) => {
      clearTimeout(timer)
      resolve(text)
    }
    child.on("error", () => done(""))
    child.on("close", (code: number | null) => done(code === 0 ? contextOf(answer) : ""))
    child.stdout.on("data", (bytes: { toString(): string }) => (answer += bytes.toString()))
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify({ session_id: session, cwd, hook_event_name: moment, ...more }))
  })
}

export const Ken = async ({ directory }: { directory: string }) => {
  const conversations = new Map<string, Told>()
  const told = (session: string): Told => {
    const known = conversations.get(session) ?? { latest: [], failures: new Set<string>() }
    conversations.set(session, known)
    return known
  }
  const tell = (session: string, context: string) => {
    if (context) told(session).latest.push(context)
  }
  const begin = async (session: string) => {
    const it = told(session)
    if (it.briefing !== undefined) return
    it.briefing = ""
    const moment = it.parent ? "subagent" : "start"
    it.briefing = await ken(moment, directory, session, it.parent ? { parent_session_id: it.parent } : {})
  }

  return {
    event: async ({ event }: { event: any }) => {
      const properties = event?.properties ?? {}
      const session: string | undefined = properties.sessionID ?? properties.info?.id
      switch (event?.type) {
        case "session.created":
          if (session && properties.info?.parentID) told(session).parent = properties.info.parentID
          break
        case "session.compacted":
          // What the model was told is gone with the rest.
          if (session) told(session).briefing = undefined
          break
        case "session.idle":
          if (session) tell(session, await ken("stop", directory, session))
          break
        case "session.deleted":
          if (session) {
            conversations.delete(session)
            await ken("end", directory, session)
          }
          break
        case "message.part.updated": {
          const part = properties.part
          const failed = part?.type === "tool" && part.state?.status === "error"
          if (!failed || told(part.sessionID).failures.has(part.callID)) break
          told(part.sessionID).failures.add(part.callID)
          const more = { tool_name: part.tool, tool_input: part.state.input, error: part.state.error }
          tell(part.sessionID, await ken("failure", directory, part.sessionID, more))
          break
        }
      }
    },

    "chat.message": async (input: { sessionID: string }, output: { parts: any[] }) => {
      await begin(input.sessionID)
      const texts = (output.parts ?? []).filter((part) => part?.type === "text" && !part.synthetic)
      const prompt = texts.map((part) => part.text ?? "").join("\n")
      const context = await ken("prompt", directory, input.sessionID, { prompt })
      told(input.sessionID).latest = context ? [context] : []
    },

    "tool.execute.after": async (
      input: { tool: string; sessionID: string; callID: string; args?: unknown },
      output: { output?: string },
    ) => {
      const tool_response = (output?.output ?? "").slice(0, OUTPUT_CHARS_MAX)
      const more = { tool_name: input.tool, tool_input: input.args, tool_response }
      tell(input.sessionID, await ken("tool", directory, input.sessionID, more))
    },

    "experimental.chat.system.transform": async (input: { sessionID?: string }, output: { system: string[] }) => {
      if (!input.sessionID) return
      await begin(input.sessionID)
      const it = told(input.sessionID)
      for (const context of [it.briefing, ...it.latest]) if (context) output.system.push(context)
    },
  }
}
