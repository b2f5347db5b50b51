"""The workspaces of an application: a global one, and those of agents."""

from __future__ import annotations

from moorage import ConfigError
from moorage_workspace.workspace import Workspace


class Workspaces:
    """Lists and fetches workspaces; an agent without one of its own has the global one.

    The registry owns what is registered unless told otherwise: :meth:`shutdown` destroys it.
    """

    def __init__(self) -> None:
        self._all: dict[str, Workspace] = {}
        self._agents: dict[str, str] = {}
        self._global: str | None = None
        self._owned: set[str] = set()

    def register(self, workspace: Workspace, *, agent: str | None = None, owned: bool = True) -> None:
        """Make it the global workspace, or an agent's, in place of the one before, which stays registered.

        Raises:
            ConfigError: another workspace has its id.
        """
        if self._all.setdefault(workspace.id, workspace) is not workspace:
            raise ConfigError(f"another workspace has the id {workspace.id!r}")
        if agent is None:
            self._global = workspace.id
        else:
            self._agents[agent] = workspace.id
        if owned:
            self._owned.add(workspace.id)

    def get_workspace(self, agent: str | None = None) -> Workspace | None:
        """The agent's workspace, else the global one, else ``None``."""
        key = self._global if agent is None else self._agents.get(agent, self._global)
        return None if key is None else self._all[key]

    def get_workspace_by_id(self, id: str) -> Workspace | None:  # noqa: A002 (its name everywhere else)
        return self._all.get(id)

    def list_workspaces(self) -> tuple[Workspace, ...]:
        """Each once, in the order of registration."""
        return tuple(self._all.values())

    async def remove_workspace(self, id: str, destroy: bool = False) -> bool:  # noqa: A002 (its name everywhere else)
        """Forget it, and with ``destroy`` destroy it. Its agents have the global one from now on. Whether it was there.

        Raises:
            ExceptionGroup: what failed while it was destroyed; it is forgotten all the same.
        """
        workspace = self._all.pop(id, None)
        if workspace is None:
            return False
        self._owned.discard(id)
        self._agents = {agent: key for agent, key in self._agents.items() if key != id}
        if self._global == id:
            self._global = None
        if destroy:
            await workspace.destroy()
        return True

    async def shutdown(self) -> None:
        """Destroy those that the registry owns, and forget all. Idempotent.

        Raises:
            ExceptionGroup: the errors of those that failed; all were tried.
        """
        owned = [workspace for key, workspace in self._all.items() if key in self._owned]
        self._all.clear()
        self._agents.clear()
        self._owned.clear()
        self._global = None
        errors: list[Exception] = []
        for workspace in reversed(owned):
            try:
                await workspace.destroy()
            except Exception as error:
                errors.append(error)
        if errors:
            raise ExceptionGroup("some workspaces could not be destroyed", errors)
