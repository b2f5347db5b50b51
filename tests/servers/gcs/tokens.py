"""A token endpoint, as the ``token_uri`` of service accounts and user credentials names one: ``/token``."""

from __future__ import annotations

import json
from typing import Final
from urllib.parse import parse_qs

from tests.servers.gcs.calls import Answer, Call, json_answer
from tests.servers.gcs.state import Access, State

GRANTS: Final = {"urn:ietf:params:oauth:grant-type:jwt-bearer": "assertion", "refresh_token": "refresh_token"}
"""Kinds of grants, and the field that has to come with each; what is in it is not checked."""
LIFETIME_SECONDS: Final = 3600


def issue_token(state: State, call: Call) -> Answer:
    """Answer with a new token, ``issued-1`` and so on, that lets in with full access."""
    fields = parse_qs(call.body.decode("latin-1"))
    grant = fields.get("grant_type", [""])[0]
    if grant not in GRANTS or GRANTS[grant] not in fields:
        return Answer(400, {"Content-Type": "application/json"}, json.dumps({"error": "invalid_grant"}).encode())
    state.issued += 1
    token = f"issued-{state.issued}"
    if state.settings.tokens is not None:
        state.settings.tokens[token] = Access()
    return json_answer({"access_token": token, "token_type": "Bearer", "expires_in": LIFETIME_SECONDS})
