"""What the tree refuses in a bucket: stale writes, changes of what is read-only, and a tenant at another's prefix."""

from __future__ import annotations

from collections import Counter
from typing import Final

import anyio
from scripts.demonstration.bucket_stage import ARCHIVE, TENANTS, WORK, BucketStage
from scripts.demonstration.refusals import ONE_WON, ROUNDS, race, refused
from scripts.demonstration.stores import PART, TEAM

from moorage import ContextRequiredError, PermissionDeniedError, ReadOnlyError, RequestContext, StaleFileError

_PATH: Final = "/me/plan.md"


async def two_writers(stage: BucketStage) -> None:
    """Two writers who both read the same version write at once, again and again."""
    outcomes: Counter[str] = Counter()
    for _ in range(ROUNDS):
        outcomes[await race(stage.tree, "/bucket/plan.md")] += 1
    said = ", ".join(f"{outcome} ({count} rounds)" for outcome, count in outcomes.items())
    stage.report.claim("of two writers one wins", said, outcomes == {ONE_WON: ROUNDS})


async def write_what_somebody_changed(stage: BucketStage) -> None:
    """Somebody else, past Moorage, replaces what was read; then every kind of guarded change comes too late."""
    tree, raw = stage.tree, stage.store.raw
    seen = await tree.write_text("/bucket/report.md", "ours")
    version = seen.version or ""
    raw.put(f"{WORK}report.md", b"theirs")
    attempts = await refused(
        StaleFileError,
        write=tree.write_text("/bucket/report.md", "ours again", expected_version=version),
        write_empty=tree.write_bytes("/bucket/report.md", b"", expected_version=version),
        write_in_parts=tree.write_bytes("/bucket/report.md", bytes(PART + 1), expected_version=version),
        append=tree.append_text("/bucket/report.md", "more", expected_version=version),
        copy=tree.copy("/bucket/plan.md", "/bucket/report.md", expected_version=version),
        delete=tree.delete("/bucket/report.md", expected_version=version),
    )
    stage.report.claim("what somebody else changed is not overwritten", *attempts)
    kept, pending = raw.get(f"{WORK}report.md"), raw.pending_uploads()
    stage.report.claim(
        "and their bytes are intact",
        f"{(kept or b'')[:20]!r}; {len(pending)} uploads pending",
        (kept, pending) == (b"theirs", []),
    )


async def write_to_read_only(stage: BucketStage) -> None:
    """Every kind of change of the read-only mount."""
    tree = stage.tree
    attempts = await refused(
        ReadOnlyError,
        write=tree.write_text("/archive/new.txt", "x"),
        replace=tree.write_text("/archive/kept.txt", "x"),
        append=tree.append_text("/archive/kept.txt", "x"),
        delete=tree.delete("/archive/kept.txt"),
        copy=tree.copy("/bucket/plan.md", "/archive/plan.md"),
        move_in=tree.move("/bucket/plan.md", "/archive/plan.md"),
        move_out=tree.move("/archive/kept.txt", "/bucket/kept.txt"),
        make_dir=tree.make_dir("/archive/new"),
        remove_dir=tree.remove_dir("/archive", recursive=True),
    )
    stage.report.claim("the read-only mount refuses every change", *attempts)
    raw = stage.store.raw
    held = {key: raw.get(key) for key in raw.keys(ARCHIVE)}
    stage.report.claim("and is as it was", f"holds {', '.join(held)}", held == {f"{ARCHIVE}kept.txt": b"kept"})


async def two_tenants(stage: BucketStage) -> None:
    """Both write at one path, at the same time, with credentials and a prefix of their own."""
    read: dict[str, str] = {}

    async def request(tenant: str) -> None:
        async with stage.tree.resolve(RequestContext(tenant=tenant)) as tree:
            await tree.write_text(_PATH, f"{tenant}'s plan")
            read[tenant] = await tree.read_text(_PATH)

    async with anyio.create_task_group() as tasks:
        for tenant in TENANTS:
            tasks.start_soon(request, tenant)
    own = {tenant: f"{tenant}'s plan" for tenant in TENANTS}
    stage.report.claim("two tenants read their own at one path", f"{_PATH}: {', '.join(read.values())}", read == own)
    stored = {tenant: (stage.store.raw.get(f"{tenant}/plan.md") or b"").decode() for tenant in TENANTS}
    stage.report.claim("and have a prefix each", ", ".join(f"{tenant}/plan.md" for tenant in stored), stored == own)
    astray = stage.store.open("globex", TEAM)
    attempts = await refused(
        PermissionDeniedError, read=astray.read_text("/plan.md"), write=astray.write_text("/plan.md", "x")
    )
    await astray.aclose()
    stage.report.claim("a tenant's credentials open nobody else's prefix", *attempts)
    attempts = await refused(ContextRequiredError, read=stage.tree.read_text(_PATH))
    stage.report.claim("without a request nobody's files are there", *attempts)
