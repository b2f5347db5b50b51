"""Real servers, a fake one and a fault-injecting proxy, for tests, the demo and the benchmarks.

Everything listens on a free loopback port, is polled with a real operation before it is handed out, and is ended by
its own id, also when the program that started it is killed. seaweedfs and moto live in ``.venv-servers``
(``scripts/servers`` makes it). Each is a plain context manager, usable under any event loop or none::

    with running_seaweedfs() as server: ...       # tests.servers.seaweedfs -> S3Server
    with running_moto() as server: ...            # tests.servers.moto      -> S3Server
    with running_gcs() as server: ...             # tests.servers.gcs       -> GCSServer, a process of its own
    with serving_gcs() as server: ...             # tests.servers.gcs       -> LocalGCSServer, a thread: .state
    with running_proxy(server.port) as proxy: ... # tests.servers.proxy     -> Proxy, a thread; for stripping on S3,
                                                  # give it server.identities, too

Pytest fixtures, session-wide, started at first use (``tests/conftest.py`` loads ``tests.servers.fixtures``):

``seaweedfs``, ``moto``: an :class:`~tests.servers.s3_server.S3Server`
    ``endpoint_url``, ``port``, ``region``, ``bucket`` ("bucket1", there already), ``access_key_id`` ("testkey"),
    ``secret_access_key`` ("testsecret"); ``make_bucket()`` gives the name of a new one; ``put``, ``get``, ``head``,
    ``delete``, ``keys``, ``pending_uploads`` look past the code under test; ``request`` sends anything, signed.
    seaweedfs has two more identities: ``server.reader`` (may read and list all of it) and ``server.team`` (may do
    everything, but below ``team/`` of ``bucket1`` only); moto checks no signature.
``gcs_server``: a :class:`~tests.servers.gcs.LocalGCSServer`
    ``endpoint_url``, ``port``, ``bucket`` ("bucket1"), ``make_bucket()``, ``state`` (objects, pending resumable
    uploads, bucket and token settings), ``put``, ``get``, ``keys``, ``pending_uploads``.
``s3_proxy`` and ``moto_proxy``, ``gcs_proxy``: a :class:`~tests.servers.proxy.Proxy` before the server of that name
    A test's own, without rules and counts. ``endpoint_url`` goes where the server's went.
``own_gcs_server``: as ``gcs_server``, but a test's own: for tests that change ``state.settings``
    ``settings.tokens`` (bearer tokens, each with an ``Access``: read-only, below a prefix), ``page_size``,
    ``rewritten_per_call``, ``seconds_between_writes`` (429), ``bare_line_feeds`` (gcsfs's own uploads), ``fault``.
    ``/token`` is a token endpoint for service accounts: it issues ``issued-1``, ``issued-2``, …, and lets them in.

The proxy counts and breaks::

    proxy.count()                                  # requests since it started, or since proxy.reset()
    proxy.count("put_object")                      # by kind; all of them: tests.servers.kinds
    proxy.wait_for("upload_part", 2)               # block until two have arrived (in a thread of a test's own)
    proxy.kinds()                                  # ["head_object", "list_objects", ...] in order of arrival
    proxy.add(Rule(DropResponse(), kind="put_object", nth=1))
    proxy.add(Rule(s3_error(409, "ConditionalRequestConflict"), method="PUT", probability=0.3, seed=7))
    proxy.add(Rule(gcs_error(429, retry_after=1), target=r"/upload/", times=2))

Actions (``tests.servers.faults``): ``DropRequest``, ``DropResponse``, ``Stall`` (before or after the server does it;
for some time, until released, or until the client goes), ``CutBody`` (of a response), ``CutUpload``, ``Answer``
(``after=True`` lets the server do it first), ``s3_error``, ``s3_error_in_200``, ``gcs_error``, ``StripConditions`` and
``StripRange`` (a server that ignores them; signed anew, so that S3 accepts the rest).
"""
