"""The context that Lambda hands to a handler."""

from __future__ import annotations

from datetime import datetime, timedelta

from aws_lambda_powertools.utilities.typing import LambdaContext

from functions.core.ports import Clock
from tests.fakes.environment import ACCOUNT, REGION


class FakeLambdaContext(LambdaContext):
    """An invocation that began when it was made and has `timeout` to live."""

    def __init__(
        self, clock: Clock, *, request_id: str = "request-1", timeout: timedelta = timedelta(seconds=30)
    ) -> None:
        self._clock = clock
        self._aws_request_id = request_id
        self._function_name = "consumer"
        self._invoked_function_arn = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:consumer"
        self.deadline: datetime = clock() + timeout

    def get_remaining_time_in_millis(self) -> int:  # type: ignore[override] # a static method in the stub, by mistake
        return max(0, int((self.deadline - self._clock()).total_seconds() * 1000))
