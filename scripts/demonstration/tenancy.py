"""Two tenants, one path, at the same time."""

from __future__ import annotations

import anyio
from scripts.demonstration.stage import Stage

from moorage import ContextRequiredError, RequestContext

_PATH = "/me/plan.md"


async def two_tenants(stage: Stage) -> None:
    """Both write, and read only when both have written."""
    read: dict[str, str] = {}
    both_wrote = anyio.Event()
    wrote: list[str] = []

    async def request(tenant: str) -> None:
        async with stage.tree.resolve(RequestContext(tenant=tenant)) as tree:
            await tree.write_text(_PATH, f"{tenant}'s plan")
            wrote.append(tenant)
            if len(wrote) == len(_TENANTS):
                both_wrote.set()
            await both_wrote.wait()
            read[tenant] = await tree.read_text(_PATH)

    async with anyio.create_task_group() as tasks:
        for tenant in _TENANTS:
            tasks.start_soon(request, tenant)
    own = {tenant: f"{tenant}'s plan" for tenant in _TENANTS}
    stage.report.claim("two tenants read their own at one path", f"{_PATH}: {', '.join(read.values())}", read == own)
    stored = {tenant: (stage.homes / tenant / "plan.md").read_text() for tenant in _TENANTS}
    stage.report.claim("and have a directory each", ", ".join(f"{tenant}/plan.md" for tenant in stored), stored == own)
    try:
        await stage.tree.read_text(_PATH)
        said = "it was readable"
    except ContextRequiredError as error:
        said = type(error).__name__
    stage.report.claim("without a request nobody's files are there", said, said == "ContextRequiredError")


_TENANTS = ("acme", "globex")
