//! Connections, roles, migrations, and transactions that see one tenant.
