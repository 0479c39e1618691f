// Ken's hooks for opencode. Every event of a session runs `ken hook opencode EVENT` with JSON on
// standard input and adds Ken's answer to the model's context. If Ken is slow, broken or not
// installed, the session continues without it.
import { spawn } from "node:child_process"

type HookEvent = "start" | "prompt" | "tool" | "failure" | "subagent" | "stop" | "end"

/** Time limit for an answer, in milliseconds. */
const TIMEOUT_MS = 10_000
/** Maximum characters of a tool's output sent to Ken. */
const OUTPUT_CHARS_MAX = 20_000

/** The context blocks of one session. */
type SessionContext = { briefing?: string; latest: string[]; failures: Set<string>; parent?: string }

function contextOf(answer: string): string {
  const text = answer.trim()
  if (!text.startsWith("{")) return text
  try {
    const json = JSON.parse(text)
    const context = json.hookSpecificOutput?.additionalContext ?? json.additional_context ?? json.context
    return typeof context === "string" ? context : ""
  } catch {
    return ""
  }
}

function ken(event: HookEvent, cwd: string, session: string, more: Record<string, unknown> = {}): Promise<string> {
  return new Promise((resolve) => {
    let answer = ""
    const child = spawn("ken", ["hook", "opencode", event], { cwd, stdio: ["pipe", "pipe", "ignore"] })
    const timer = setTimeout(() => child.kill(), TIMEOUT_MS)
    const done = (text: string) => {
      clearTimeout(timer)
      resolve(text)
    }
    child.on("error", () => done(""))
    child.on("close", (code: number | null) => done(code === 0 ? contextOf(answer) : ""))
    child.stdout.on("data", (bytes: { toString(): string }) => (answer += bytes.toString()))
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify({ session_id: session, cwd, hook_event_name: event, ...more }))
  })
}

export const Ken = async ({ directory }: { directory: string }) => {
  const sessions = new Map<string, SessionContext>()
  const contextFor = (session: string): SessionContext => {
    const context = sessions.get(session) ?? { latest: [], failures: new Set<string>() }
    sessions.set(session, context)
    return context
  }
  const addContext = (session: string, text: string) => {
    if (text) contextFor(session).latest.push(text)
  }
  const begin = async (session: string) => {
    const context = contextFor(session)
    if (context.briefing !== undefined) return
    // Set before the first await: a concurrent call must not request a second briefing.
    context.briefing = ""
    const event = context.parent ? "subagent" : "start"
    const more = context.parent ? { parent_session_id: context.parent } : {}
    context.briefing = await ken(event, directory, session, more)
  }

  return {
    event: async ({ event }: { event: any }) => {
      const properties = event?.properties ?? {}
      const session: string | undefined = properties.sessionID ?? properties.info?.id
      switch (event?.type) {
        case "session.created":
          if (session && properties.info?.parentID) contextFor(session).parent = properties.info.parentID
          break
        case "session.compacted":
          // The compaction also removed the briefing, so the next turn requests it again.
          if (session) contextFor(session).briefing = undefined
          break
        case "session.idle":
          if (session) addContext(session, await ken("stop", directory, session))
          break
        case "session.deleted":
          if (session) {
            sessions.delete(session)
            await ken("end", directory, session)
          }
          break
        case "message.part.updated": {
          const part = properties.part
          const failed = part?.type === "tool" && part.state?.status === "error"
          // opencode repeats this event for the same call; Ken is notified once.
          if (!failed || contextFor(part.sessionID).failures.has(part.callID)) break
          contextFor(part.sessionID).failures.add(part.callID)
          const more = { tool_name: part.tool, tool_input: part.state.input, error: part.state.error }
          addContext(part.sessionID, await ken("failure", directory, part.sessionID, more))
          break
        }
      }
    },

    "chat.message": async (input: { sessionID: string }, output: { parts: any[] }) => {
      await begin(input.sessionID)
      const texts = (output.parts ?? []).filter((part) => part?.type === "text" && !part.synthetic)
      const prompt = texts.map((part) => part.text ?? "").join("\n")
      const context = await ken("prompt", directory, input.sessionID, { prompt })
      contextFor(input.sessionID).latest = context ? [context] : []
    },

    "tool.execute.after": async (
      input: { tool: string; sessionID: string; callID: string; args?: unknown },
      output: { output?: string },
    ) => {
      const tool_response = (output?.output ?? "").slice(0, OUTPUT_CHARS_MAX)
      const more = { tool_name: input.tool, tool_input: input.args, tool_response }
      addContext(input.sessionID, await ken("tool", directory, input.sessionID, more))
    },

    "experimental.chat.system.transform": async (input: { sessionID?: string }, output: { system: string[] }) => {
      if (!input.sessionID) return
      await begin(input.sessionID)
      const { briefing, latest } = contextFor(input.sessionID)
      for (const text of [briefing, ...latest]) if (text) output.system.push(text)
    },
  }
}
