"""moto without HTTP: a call goes straight to moto's handler, and its answer straight back.

Signing, sending and parsing a request takes ten times as long as what moto does with it. What is asked and answered is
the same: the conformance suites hold this way to it too.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from botocore.client import BaseClient
from botocore.exceptions import ClientError
from moto.core.exceptions import ServiceException
from moto.core.responses import ActionResult, BaseResponse
from moto.core.utils import camelcase_to_underscores
from moto.dynamodb.models.utilities import dynamo_json_dump
from moto.dynamodb.responses import DynamoHandler
from moto.sqs.responses import SQSResponse
from werkzeug.exceptions import HTTPException

from tests.fakes.environment import ACCOUNT, REGION

HANDLERS: Final[dict[str, type[BaseResponse]]] = {"dynamodb": DynamoHandler, "sqs": SQSResponse}


def ask(client: BaseClient, operation: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return what the client would, for a call to DynamoDB or SQS. Raises ClientError as it would."""
    handler = HANDLERS[client.meta.service_model.service_name]()
    handler.region, handler.current_account = REGION, ACCOUNT
    handler.headers = {"X-Amz-Target": f"moto.{operation}", "Content-Type": "application/x-amz-json-1.0"}
    handler.response_headers, handler.uri_match, handler.querystring = {}, {}, {}
    handler.uri = handler.path = ""
    handler.params = handler.body = json.loads(json.dumps(parameters))  # moto keeps what it gets
    try:
        answer = _plain(handler, getattr(handler, camelcase_to_underscores(operation))())
    except ServiceException as error:
        _, headers, body = handler.serialized(ActionResult(error))
        code = headers.get("x-amzn-query-error", "").partition(";")[0]  # SQS keeps the names of its old protocol
        raise _refused(client, operation, body, code) from error
    except HTTPException as error:
        raise _refused(client, operation, error.description) from error
    return answer | {"ResponseMetadata": {"HTTPStatusCode": 200}}


def _plain(handler: BaseResponse, result: ActionResult) -> dict[str, Any]:
    # moto's serializer looks every attribute of every row up in a model; there is nothing in rows to look up.
    body = dynamo_json_dump(result.result) if isinstance(handler, DynamoHandler) else handler.serialized(result)[2]
    answer: dict[str, Any] = json.loads(body or "{}")
    return answer


def _refused(client: BaseClient, operation: str, body: Any, old_code: str = "") -> ClientError:
    answer: dict[str, Any] = json.loads(body)
    code = old_code or str(answer.pop("__type")).rpartition("#")[2]
    answer["Error"] = {"Code": code, "Message": answer.pop("message", None) or answer.pop("Message", "")}
    answer["ResponseMetadata"] = {"HTTPStatusCode": 400}
    refused: Callable[[Any, str], ClientError] = client.exceptions.from_code(code)  # type: ignore[assignment]
    return refused(answer, operation)
