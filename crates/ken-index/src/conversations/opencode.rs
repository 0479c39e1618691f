//! Reads sessions from opencode's own database, as the documents that `opencode export` writes.
//!
//! The database is opened for reading only. Its tables are `session`, `message` and `part`; columns
//! `data` have JSON. Tool calls stay behind: only texts are read.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};

use crate::error::IndexError;

/// Maximum number of messages and of parts read of one session.
const ROWS_MAX: i64 = 20_000;

/// A database of opencode.
#[derive(Debug)]
pub struct OpencodeDatabase(Connection);

/// A session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpencodeSession {
    pub id: String,
    /// The working directory.
    pub folder: String,
    /// Milliseconds since 1970.
    pub updated: i64,
}

impl OpencodeDatabase {
    /// Opens the database at `path`.
    pub fn open(path: &Path) -> Result<Self, IndexError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Ok(Self(Connection::open_with_flags(path, flags)?))
    }

    /// Returns the sessions of people, newest first. Sessions with a parent are prompts of an agent
    /// to its subagent.
    pub fn sessions(&self) -> Result<Vec<OpencodeSession>, IndexError> {
        let query = "SELECT id, directory, time_updated FROM session WHERE parent_id IS NULL
             ORDER BY time_updated DESC, id";
        let mut statement = self.0.prepare(query)?;
        let sessions = statement.query_map([], |row| {
            Ok(OpencodeSession {
                id: row.get(0)?,
                folder: row.get(1)?,
                updated: row.get(2)?,
            })
        })?;
        Ok(sessions.collect::<Result<_, _>>()?)
    }

    /// Returns what was said in a session.
    pub fn document(&self, session: &OpencodeSession) -> Result<String, IndexError> {
        let query = "SELECT id, data FROM message WHERE session_id = ?1
             ORDER BY time_created, id LIMIT ?2";
        let mut statement = self.0.prepare_cached(query)?;
        let rows = statement.query_map((&session.id, ROWS_MAX), |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
        })?;
        let mut messages = Vec::new();
        for row in rows {
            let (id, data) = row?;
            messages.push(json!({"info": parse(&data), "parts": self.texts(&id)?}));
        }
        let info = json!({"id": session.id, "directory": session.folder});
        Ok(json!({"info": info, "messages": messages}).to_string())
    }

    fn texts(&self, message: &str) -> Result<Vec<Value>, IndexError> {
        let query = "SELECT data FROM part WHERE message_id = ?1
             AND json_extract(data, '$.type') = 'text' ORDER BY id LIMIT ?2";
        let mut statement = self.0.prepare_cached(query)?;
        let rows = statement.query_map((message, ROWS_MAX), |row| row.get::<_, String>(0))?;
        let parts = rows.map(|data| data.map(|it| parse(&it)));
        Ok(parts.collect::<Result<_, _>>()?)
    }
}

fn parse(data: &str) -> Value {
    serde_json::from_str(data).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_read_without_its_tools() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("opencode.db");
        let db = Connection::open(&path).unwrap();
        db.execute_batch(
            r#"CREATE TABLE session (id TEXT, parent_id TEXT, directory TEXT, time_updated INTEGER);
            CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT);
            CREATE TABLE part (id TEXT, message_id TEXT, data TEXT);
            INSERT INTO session VALUES ('s1', NULL, '/r', 5), ('s2', 's1', '/r', 9);
            INSERT INTO message VALUES ('m2', 's1', 2, '{"role":"assistant"}'),
                ('m1', 's1', 1, '{"role":"user","time":{"created":1}}');
            INSERT INTO part VALUES ('p1', 'm1', '{"type":"text","text":"hello"}'),
                ('p2', 'm2', '{"type":"tool","tool":"bash"}'),
                ('p3', 'm2', '{"type":"text","text":"Hi."}');"#,
        )
        .unwrap();
        drop(db);
        let database = OpencodeDatabase::open(&path).unwrap();
        let sessions = database.sessions().unwrap();
        assert_eq!(sessions.len(), 1, "that of a subagent is left out");
        let document: Value =
            serde_json::from_str(&database.document(&sessions[0]).unwrap()).unwrap();
        assert_eq!(
            document,
            json!({
                "info": {"id": "s1", "directory": "/r"},
                "messages": [
                    {"info": {"role": "user", "time": {"created": 1}}, "parts": [{"type": "text", "text": "hello"}]},
                    {"info": {"role": "assistant"}, "parts": [{"type": "text", "text": "Hi."}]},
                ],
            })
        );
    }
}
