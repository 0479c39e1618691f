//! Operator commands that rename, remove, restore and erase workspaces and organizations.

use super::{Administration, AdministrationError, find_workspace};
use crate::database::{
    HubName, OrganizationTx, RemovedOrganization, RemovedWorkspace, WorkspaceRow,
};
use crate::ids::OrganizationId;

impl Administration {
    /// Removes a workspace. It can be restored until it is erased.
    pub async fn remove_workspace(
        &self,
        organization: &str,
        workspace: &str,
    ) -> Result<RemovedWorkspace, AdministrationError> {
        let mut tx = self.begin_organization(organization).await?;
        let found = find_workspace(&mut tx, workspace).await?;
        let removed = tx.remove_workspace(self.operator(), &found).await?;
        tx.commit().await?;
        Ok(removed)
    }

    /// Renames a workspace, which keeps its id.
    pub async fn rename_workspace(
        &self,
        organization: &str,
        workspace: &str,
        to: &str,
    ) -> Result<WorkspaceRow, AdministrationError> {
        let to: HubName = to.parse()?;
        let mut tx = self.begin_organization(organization).await?;
        let found = find_workspace(&mut tx, workspace).await?;
        tx.rename_workspace(self.operator(), &found, &to).await??;
        tx.commit().await?;
        Ok(WorkspaceRow { name: to, ..found })
    }

    /// Restores a removed workspace.
    pub async fn restore_workspace(
        &self,
        organization: &str,
        workspace: &str,
    ) -> Result<RemovedWorkspace, AdministrationError> {
        let mut tx = self.begin_organization(organization).await?;
        let removed = find_removed_workspace(&mut tx, workspace).await?;
        if !tx.restore_workspace(self.operator(), &removed).await? {
            return Err(AdministrationError::GraceEnded(workspace.to_owned()));
        }
        tx.commit().await?;
        // Other workspaces see what it published again, without waiting for its next read.
        let (organization, id) = (removed.workspace.organization, removed.workspace.id);
        self.database.rebuild(organization, id).await?;
        Ok(removed)
    }

    /// Erases a removed workspace now.
    pub async fn purge_workspace(
        &self,
        organization: &str,
        workspace: &str,
    ) -> Result<RemovedWorkspace, AdministrationError> {
        let mut tx = self.begin_organization(organization).await?;
        let removed = find_removed_workspace(&mut tx, workspace).await?;
        tx.purge_workspace(self.operator(), &removed).await?;
        tx.commit().await?;
        self.database.erase_due(self.operator()).await?;
        Ok(removed)
    }

    /// Returns an organization's removed workspaces, sorted by name.
    pub async fn removed_workspaces(
        &self,
        organization: &str,
    ) -> Result<Vec<RemovedWorkspace>, AdministrationError> {
        let mut tx = self.begin_organization(organization).await?;
        Ok(tx.removed_workspaces().await?)
    }

    /// Removes an organization with its workspaces and tokens.
    pub async fn remove_organization(
        &self,
        organization: &str,
    ) -> Result<RemovedOrganization, AdministrationError> {
        let mut tx = self.begin_organization(organization).await?;
        let name: HubName = organization.parse()?;
        let removed = tx.remove_organization(self.operator(), &name).await?;
        tx.commit().await?;
        Ok(removed)
    }

    /// Renames an organization, which keeps its id.
    pub async fn rename_organization(
        &self,
        organization: &str,
        to: &str,
    ) -> Result<OrganizationId, AdministrationError> {
        let to: HubName = to.parse()?;
        let mut tx = self.begin_organization(organization).await?;
        let from: HubName = organization.parse()?;
        let id = tx.id();
        if !tx.rename_organization(self.operator(), &from, &to).await? {
            return Err(AdministrationError::OrganizationNameTaken(to));
        }
        tx.commit().await?;
        Ok(id)
    }

    /// Restores a removed organization.
    pub async fn restore_organization(
        &self,
        organization: &str,
    ) -> Result<RemovedOrganization, AdministrationError> {
        let removed = self.find_removed_organization(organization).await?;
        let mut tx = self.database.begin_organization(removed.id).await?;
        let restored = tx.restore_organization(self.operator(), &removed.name);
        if !restored.await? {
            return Err(AdministrationError::GraceEnded(organization.to_owned()));
        }
        tx.commit().await?;
        Ok(removed)
    }

    /// Erases a removed organization now.
    pub async fn purge_organization(
        &self,
        organization: &str,
    ) -> Result<RemovedOrganization, AdministrationError> {
        let removed = self.find_removed_organization(organization).await?;
        let mut tx = self.database.begin_organization(removed.id).await?;
        tx.purge_organization(self.operator(), &removed.name)
            .await?;
        tx.commit().await?;
        self.database.erase_due(self.operator()).await?;
        Ok(removed)
    }

    pub(super) async fn find_removed_organization(
        &self,
        name: &str,
    ) -> Result<RemovedOrganization, AdministrationError> {
        let unknown = || AdministrationError::NoRemovedOrganization(name.to_owned());
        let name: HubName = name.parse().map_err(|_| unknown())?;
        let removed = self.database.removed_organization(&name).await?;
        removed.ok_or_else(unknown)
    }
}

async fn find_removed_workspace(
    tx: &mut OrganizationTx,
    workspace: &str,
) -> Result<RemovedWorkspace, AdministrationError> {
    let removed = tx.removed_workspace(workspace).await?;
    removed.ok_or_else(|| AdministrationError::NoRemovedWorkspace(workspace.to_owned()))
}
