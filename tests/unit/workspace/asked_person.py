"""Somebody who is asked, and always gives the same answer."""

from __future__ import annotations

from moorage_workspace import Approval, ApprovalRequest


class Person:
    def __init__(self, answer: Approval | None = None) -> None:
        self.asked: list[ApprovalRequest] = []
        self.answer = answer or Approval.for_session()

    async def __call__(self, request: ApprovalRequest) -> Approval:
        self.asked.append(request)
        return self.answer

    @property
    def summaries(self) -> list[str]:
        return [request.summary for request in self.asked]

    @property
    def rules(self) -> list[str]:
        return [request.rule for request in self.asked]
