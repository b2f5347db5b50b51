"""Resolvers and the cache of tenants' filesystems."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Literal

import anyio
import anyio.lowlevel
import pytest

from moorage import (
    WRITE,
    Body,
    ClosedError,
    CompositeFilesystem,
    ContextRequiredError,
    Filesystem,
    InvalidArgumentError,
    InvalidPathError,
    Limits,
    MemoryFilesystem,
    MemoryProvider,
    OperationTimeoutError,
    RequestContext,
    Stat,
    StoragePath,
    TenantCache,
    UnavailableError,
    WriteOptions,
)

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Watched(MemoryProvider):
    """Knows its tenant, how often it was opened and closed, and whether it was used while closed."""

    def __init__(self, tenant: str, others: Sequence[Watched] = (), limit: int = 64) -> None:
        super().__init__()
        self.others = others
        self.limit = limit
        self.tenant = tenant
        self.state: Literal["new", "open", "closed"] = "new"
        self.closes = 0
        self.busy = 0

    async def start(self) -> None:
        live = sum(other.state == "open" for other in self.others)
        assert live < self.limit, "more open than the cache may hold"
        await anyio.lowlevel.checkpoint()
        self.state = "open"

    async def aclose(self) -> None:
        assert self.busy == 0, "closed while in use"
        await anyio.sleep(0.005)
        self.closes += 1
        self.state = "closed"

    async def write(self, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        assert self.state == "open", "used while not open"
        self.busy += 1
        try:
            await anyio.lowlevel.checkpoint()
            return await super().write(path, body, options)
        finally:
            self.busy -= 1


async def test_a_thousand_tenants_over_64_filesystems_cancelled_at_random() -> None:
    built: list[Watched] = []
    chance = random.Random(7)
    crossed: list[str] = []
    finished = Counter[str]()

    async def build(context: RequestContext) -> Filesystem:
        await anyio.sleep(chance.random() / 500)
        if chance.random() < 0.05:
            raise RuntimeError("the builder failed")
        provider = Watched(str(context["tenant"]), built)
        built.append(provider)
        return Filesystem(provider)

    cache = TenantCache(build, size=64, max_wait=60)
    tree = CompositeFilesystem({"/me": cache, "/shared": MemoryFilesystem()})

    async def request(tenant: str, patience: float) -> None:
        with anyio.move_on_after(patience) as scope:
            async with tree.resolve(RequestContext(tenant=tenant)) as fs:
                try:
                    await fs.write_text("/me/who", tenant)
                except UnavailableError:
                    finished["failed"] += 1
                    return
                await anyio.sleep(chance.random() / 500)
                if await fs.read_text("/me/who") != tenant:
                    crossed.append(tenant)
        finished["cancelled" if scope.cancelled_caught else "done"] += 1

    async with tree:
        async with anyio.create_task_group() as tasks:
            for number in range(3000):
                patience = chance.choice([60.0, 60.0, chance.random() / 20])
                tasks.start_soon(request, f"tenant-{number % 1000}", patience)
        await cache.aclose()

    assert not crossed
    assert finished["done"] > 1000
    assert finished["cancelled"] > 100
    assert finished["failed"] > 10
    assert len(built) > 500
    assert {provider.closes for provider in built if provider.state != "new"} == {1}
    assert all(provider.state != "open" for provider in built)


async def test_one_build_a_key_at_a_time_and_a_failure_is_not_kept() -> None:
    running = 0
    calls = 0

    async def build(context: RequestContext) -> Filesystem:
        nonlocal running, calls
        running += 1
        calls += 1
        assert running == 1
        await anyio.sleep(0.01)
        running -= 1
        if calls == 1:
            raise ValueError("not yet")
        return MemoryFilesystem()

    got: list[Filesystem] = []
    async with TenantCache(build) as cache:

        async def ask() -> None:
            try:
                got.append(await cache.acquire(RequestContext(tenant="a")))
            except ValueError:
                got.append(await cache.acquire(RequestContext(tenant="a")))

        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(ask)
        assert calls == 2
        assert len({id(filesystem) for filesystem in got}) == 1
        for filesystem in got:
            await cache.release(filesystem)


async def test_a_cancelled_builder_is_succeeded_by_the_next_waiter() -> None:
    calls = 0

    async def build(context: RequestContext) -> Filesystem:
        nonlocal calls
        calls += 1
        if calls == 1:
            await anyio.sleep_forever()
        return MemoryFilesystem()

    async with TenantCache(build) as cache, anyio.create_task_group() as tasks:
        first = anyio.CancelScope()

        async def cancelled() -> None:
            with first:
                await cache.acquire(RequestContext(tenant="a"))

        async def next_in_line() -> None:
            await cache.release(await cache.acquire(RequestContext(tenant="a")))

        tasks.start_soon(cancelled)
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(next_in_line)
        await anyio.wait_all_tasks_blocked()
        first.cancel()
    assert calls == 2


async def test_a_leased_filesystem_is_never_evicted_and_the_wait_has_a_limit() -> None:
    async with TenantCache(lambda context: Filesystem(Watched(str(context["tenant"]))), size=1, max_wait=0.05) as cache:
        held = await cache.acquire(RequestContext(tenant="a"))
        with pytest.raises(OperationTimeoutError):
            await cache.acquire(RequestContext(tenant="b"))
        assert isinstance(held.provider, Watched)
        assert held.provider.state == "open"
        await cache.release(held)
        other = await cache.acquire(RequestContext(tenant="b"))
        assert held.provider.closes == 1
        await cache.release(other)


async def test_what_is_still_closing_takes_its_place() -> None:
    built: list[Watched] = []

    def build(context: RequestContext) -> Filesystem:
        built.append(Watched(str(context["tenant"]), list(built), limit=1))
        return Filesystem(built[-1])

    async with TenantCache(build, size=1) as cache:

        async def visit(tenant: str) -> None:
            await cache.release(await cache.acquire(RequestContext(tenant=tenant)))

        await visit("a")
        async with anyio.create_task_group() as tasks:
            for tenant in "bcd":
                tasks.start_soon(visit, tenant)
    assert sorted(provider.closes for provider in built) == [1, 1, 1, 1]


async def test_idle_filesystems_close_when_the_cache_is_next_used() -> None:
    async with TenantCache(lambda context: Filesystem(Watched("x")), idle_time=0.02) as cache:
        idle = await cache.acquire(RequestContext(tenant="a"))
        await cache.release(idle)
        await anyio.sleep(0.05)
        used = await cache.acquire(RequestContext(tenant="b"))
        assert isinstance(idle.provider, Watched)
        assert idle.provider.closes == 1
        await cache.release(used)


async def test_nothing_is_keyed_without_the_tenant() -> None:
    async with TenantCache(lambda context: MemoryFilesystem()) as cache:
        for context in (RequestContext(), RequestContext(tenant=None), RequestContext(tenant="")):
            with pytest.raises(ContextRequiredError):
                await cache.acquire(context)
    shared = MemoryFilesystem()
    async with TenantCache(lambda context: shared) as cache:
        held = await cache.acquire(RequestContext(tenant="a"))
        with pytest.raises(InvalidArgumentError, match="two keys"):
            await cache.acquire(RequestContext(tenant="b"))
        await cache.release(held)


async def test_after_closing_leases_end_well_and_new_ones_are_refused() -> None:
    cache = TenantCache(lambda context: Filesystem(Watched("x")))
    held = await cache.acquire(RequestContext(tenant="a"))
    await cache.aclose()
    assert isinstance(held.provider, Watched)
    assert held.provider.closes == 0
    with pytest.raises(ClosedError):
        await cache.acquire(RequestContext(tenant="a"))
    await cache.release(held)
    assert held.provider.closes == 1


async def test_a_plain_resolver_runs_once_a_request_on_first_touch_and_what_it_built_is_closed() -> None:
    built: list[Watched] = []

    async def build(context: RequestContext) -> Filesystem:
        built.append(Watched(str(context["tenant"])))
        return Filesystem(built[-1])

    tree = CompositeFilesystem({"/me": build, "/fixed": MemoryFilesystem()})
    async with tree:
        async with tree.resolve({"tenant": "acme"}) as fs:
            await fs.write_text("/fixed/x", "1")
            assert built == []
            async with anyio.create_task_group() as tasks:
                for number in range(5):
                    tasks.start_soon(fs.write_text, f"/me/{number}", "1")
            assert len(built) == 1
            assert built[0].state == "open"
        assert built[0].closes == 1
        assert await tree.read_text("/fixed/x") == "1"
        with pytest.raises(ContextRequiredError) as raised:
            await tree.read_text("/me/0")
        assert raised.value.path == "/me/0"


async def test_a_filesystem_that_was_open_before_the_request_stays_open() -> None:
    provider = Watched("x")
    async with Filesystem(provider) as mine:
        tree = CompositeFilesystem({"/me": lambda context: mine})
        async with tree, tree.resolve({"tenant": "a"}) as fs:
            await fs.write_text("/me/x", "1")
        assert provider.closes == 0
    assert provider.closes == 1


async def test_two_tenants_on_the_same_path_at_once() -> None:
    async with TenantCache(lambda context: Filesystem(Limits(MemoryProvider()))) as cache:
        tree = CompositeFilesystem({"/me": cache})
        async with (
            tree,
            tree.resolve(RequestContext(tenant="a")) as one,
            tree.resolve(RequestContext(tenant="b")) as two,
        ):
            await one.write_text("/me/x", "a's")
            await two.write_text("/me/x", "b's")
            assert (await one.read_text("/me/x"), await two.read_text("/me/x")) == ("a's", "b's")


async def test_a_resolver_that_returns_no_filesystem_says_so() -> None:
    tree = CompositeFilesystem({"/me": lambda context: "nothing"})  # type: ignore[dict-item, return-value]
    async with tree, tree.resolve({}) as fs:
        with pytest.raises(InvalidArgumentError, match="str, not a Filesystem"):
            await fs.stat("/me/x")


@pytest.mark.parametrize("tenant", ["../b", "..", "a/b", "", ".", "a\n", 7, None])
def test_a_tenant_that_names_a_directory_is_one_segment(tenant: object) -> None:
    with pytest.raises(InvalidPathError):
        RequestContext(tenant=tenant).segment("tenant")
    assert RequestContext(tenant="acme").segment("tenant") == "acme"


def test_contexts() -> None:
    for context in (RequestContext(tenant="a"), RequestContext({"tenant": "a"}), RequestContext([("tenant", "a")])):
        assert (context["tenant"], context.get("x"), context.get("x", 1), dict(context)) == (
            "a",
            None,
            1,
            {"tenant": "a"},
        )
        assert "tenant" in context
        with pytest.raises(KeyError, match="agent-role"):
            context["agent-role"]
    assert "secret" not in repr(RequestContext(token="secret"))


def test_one_tree_after_another_on_different_event_loops() -> None:
    tree = CompositeFilesystem({"/m": MemoryFilesystem(), "/me": lambda context: MemoryFilesystem()})

    async def use() -> None:
        async with tree:
            async with anyio.create_task_group() as tasks:
                for number in range(5):
                    tasks.start_soon(tree.write_text, f"/m/{number}", "x")
            async with tree.resolve({}) as fs:
                await fs.write_text("/me/x", "1")

    for backend in ("asyncio", "trio", "asyncio"):
        anyio.run(use, backend=backend)


async def test_equal_keys_of_different_types_are_different_tenants() -> None:
    async with TenantCache(lambda context: MemoryFilesystem()) as cache:
        tree = CompositeFilesystem({"/me": cache})
        for tenant in (1, True, 1.0, "1"):
            async with tree.resolve(RequestContext(tenant=tenant)) as fs:
                await fs.write_text("/me/x", "mine", overwrite=False)
        with pytest.raises(ContextRequiredError):
            await cache.acquire(RequestContext(tenant=["a"]))


async def test_a_tenant_whose_requests_overlap_for_ever_does_not_keep_others_out() -> None:
    async with TenantCache(lambda context: MemoryFilesystem(), size=1, max_wait=0.4) as cache:
        served = anyio.Event()

        async def overlapping(delay: float) -> None:
            await anyio.sleep(delay)
            while not served.is_set():
                held = await cache.acquire(RequestContext(tenant="busy"))
                await anyio.sleep(0.02)
                await cache.release(held)

        async with anyio.create_task_group() as tasks:
            for number in range(3):
                tasks.start_soon(overlapping, number * 0.007)
            await anyio.sleep(0.03)
            await cache.release(await cache.acquire(RequestContext(tenant="other")))
            served.set()


async def test_a_lease_is_given_back_once() -> None:
    async with TenantCache(lambda context: MemoryFilesystem()) as cache:
        held = await cache.acquire(RequestContext(tenant="a"))
        await cache.release(held)
        for filesystem in (held, MemoryFilesystem()):
            with pytest.raises(InvalidArgumentError, match="not leased"):
                await cache.release(filesystem)


@pytest.mark.parametrize("shared", [True, False])
async def test_a_request_that_ends_while_its_mount_opens_leaves_no_lease(shared: bool) -> None:
    built: list[Watched] = []

    async def build(context: RequestContext) -> Filesystem:
        await anyio.sleep(0.02)
        built.append(Watched("x"))
        return Filesystem(built[-1])

    cache = TenantCache(build, size=1)
    tree = CompositeFilesystem({"/me": cache if shared else build})
    async with tree, anyio.create_task_group() as tasks:

        async def touch(fs: Filesystem) -> None:
            with suppress(ClosedError):
                await fs.exists("/me/x")

        async with tree.resolve({"tenant": "a"}) as fs:
            tasks.start_soon(touch, fs)
            await anyio.wait_all_tasks_blocked()
    await cache.aclose()
    assert [provider.closes for provider in built] == [1]


async def test_a_request_that_outlives_its_tree_does_not_open_the_trees_mounts_again() -> None:
    fixed = Watched("x")
    tree = CompositeFilesystem({"/fixed": fixed})
    await tree.init()
    async with tree.resolve({}) as fs:
        await fs.write_text("/fixed/x", "1")
        await tree.aclose()
        with pytest.raises(ClosedError):
            await fs.write_text("/fixed/x", "2")
    assert fixed.closes == 1


async def test_two_who_open_at_once_leave_no_lease() -> None:
    provider = Watched("x")
    fs = Filesystem(provider)
    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(fs.init)
    await fs.aclose()
    assert (provider.state, provider.closes) == ("closed", 1)


@pytest.mark.parametrize("wrong", [{"idle_time": -1}, {"max_wait": -1}, {"size": 0}, {"max_wait": float("nan")}])
def test_limits_that_make_no_sense(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidArgumentError, match=next(iter(wrong))):
        TenantCache(lambda context: MemoryFilesystem(), **wrong)  # type: ignore[arg-type]
