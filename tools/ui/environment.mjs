// A person's environment: `ken ui` refuses to serve an agent.
export const personEnvironment = { ...process.env, GIT_AUTHOR_DATE: '2026-11-10T10:00:00Z', GIT_COMMITTER_DATE: '2026-11-10T10:00:00Z' };
for (const name of ['KEN_ACTOR', 'KEN_RUN', 'KEN_SESSION', 'CLAUDECODE', 'AI_AGENT', 'CURSOR_AGENT', 'GEMINI_CLI', 'OPENCODE', 'CODEX_SANDBOX', 'CODEX_THREAD_ID']) delete personEnvironment[name];
