//! Roles in single workspaces, beside a caller's role in the whole organization.

use std::collections::BTreeMap;
use std::fmt;

use uuid::Uuid;

use crate::ids::{Role, WorkspaceId};

/// Roles in single workspaces. The role admin concerns the organization and is not among them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkspaceRoles(BTreeMap<WorkspaceId, Role>);

/// The columns `role_workspaces` and `role_names` of a row.
pub(crate) type RoleColumns = (Option<Vec<Uuid>>, Option<Vec<String>>);

impl WorkspaceRoles {
    /// Adds a role; of two in one workspace, the stronger applies.
    pub fn add(&mut self, workspace: WorkspaceId, role: Role) {
        let known = self.0.entry(workspace).or_insert(role);
        *known = role.max(*known);
    }

    /// Returns the role in a workspace: the stronger of this one and that in the organization.
    #[must_use]
    pub fn role_in(&self, workspace: WorkspaceId, organization: Role) -> Role {
        let own = self.0.get(&workspace).copied();
        own.map_or(organization, |role| role.max(organization))
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns every workspace with its role.
    pub fn iter(&self) -> impl Iterator<Item = (WorkspaceId, Role)> {
        self.0.iter().map(|(workspace, role)| (*workspace, *role))
    }

    /// Returns the columns of a row.
    pub(crate) fn columns(&self) -> RoleColumns {
        if self.0.is_empty() {
            return (None, None);
        }
        let names = self.0.values().map(|role| role.name().to_owned());
        (
            Some(self.0.keys().map(|it| it.0).collect()),
            Some(names.collect()),
        )
    }

    /// Reads the columns of a row; `None` if they are inconsistent, which authenticates no one.
    pub(crate) fn from_columns((workspaces, names): RoleColumns) -> Option<Self> {
        let (workspaces, names) = (workspaces.unwrap_or_default(), names.unwrap_or_default());
        if workspaces.len() != names.len() {
            return None;
        }
        let mut roles = Self::default();
        for (workspace, name) in workspaces.into_iter().zip(names) {
            let role: Role = name.parse().ok()?;
            if role == Role::Admin {
                return None;
            }
            roles.add(WorkspaceId(workspace), role);
        }
        Some(roles)
    }
}

/// Formats roles for the audit log.
impl fmt::Display for WorkspaceRoles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (workspace, role)) in self.iter().enumerate() {
            let separator = if at == 0 { "" } else { ", " };
            write!(f, "{separator}{role} in {}", workspace.0)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stronger_role_applies_in_its_workspace_only() {
        let (one, other) = (
            WorkspaceId(Uuid::from_u128(1)),
            WorkspaceId(Uuid::from_u128(2)),
        );
        let mut roles = WorkspaceRoles::default();
        roles.add(one, Role::Curator);
        roles.add(one, Role::Member);
        assert_eq!(roles.role_in(one, Role::Reader), Role::Curator);
        assert_eq!(roles.role_in(one, Role::Admin), Role::Admin);
        assert_eq!(roles.role_in(other, Role::Reader), Role::Reader);
        let read = WorkspaceRoles::from_columns(roles.columns());
        assert_eq!(read, Some(roles));
        let none = WorkspaceRoles::from_columns((None, None));
        assert_eq!(none, Some(WorkspaceRoles::default()));
    }

    #[test]
    fn inconsistent_columns_authenticate_no_one() {
        let id = Some(vec![Uuid::from_u128(1)]);
        for names in [
            None,
            Some(vec![]),
            Some(vec!["admin".into()]),
            Some(vec!["x".into()]),
        ] {
            assert_eq!(
                WorkspaceRoles::from_columns((id.clone(), names.clone())),
                None,
                "{names:?}"
            );
        }
    }
}
