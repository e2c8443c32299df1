"""Lambda entry point of a channel's worker, behind a function URL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from functions.adapters.environment import WorkerEnvironment
from functions.worker.worker import Worker

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

worker = Worker.of(WorkerEnvironment.load())


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Work one job off; answer with a status by which the queue knows whether to push it again."""
    return worker.answer(event, context)
