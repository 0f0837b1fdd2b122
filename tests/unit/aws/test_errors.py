"""Every way in which AWS says no has one meaning here."""

from __future__ import annotations

import ssl
from typing import Any

import aiohttp
import botocore.exceptions as boto
import botocore.session
import orjson
import pytest
from aiohttp.client_reqrep import ConnectionKey
from botocore.parsers import ResponseParserError

from connectd.aws.errors import (
    ERROR_BY_CODE,
    KNOWN_CODES,
    Call,
    ServiceFault,
    parse_wire_fault,
    translate,
    translate_fault,
)
from connectd.errors import (
    AccessDeniedError,
    ConfigError,
    ConflictError,
    ConnectdError,
    InvalidRequestError,
    IteratorExpiredError,
    RetriableError,
    StreamGoneError,
    TableGoneError,
    ThrottledError,
    TransientNetworkError,
    TrimmedDataError,
)

SCAN = Call("dynamodb:Scan", "table orders")
RECORDS = Call("dynamodb:GetRecords", "a stream")
ARN = "arn:aws:dynamodb:eu-west-1:111122223333:table/orders/stream/2024"


def client_error(code: str, message: str = "no", status: int = 400) -> boto.ClientError:
    return boto.ClientError(
        {
            "Error": {"Code": code, "Message": message},
            "ResponseMetadata": {
                "HTTPStatusCode": status,
                "RequestId": "r",
                "HostId": "h",
                "HTTPHeaders": {},
                "RetryAttempts": 0,
            },
        },
        "Scan",
    )


@pytest.mark.parametrize(
    "service", ["dynamodb", "dynamodbstreams", "resourcegroupstaggingapi", "sts"]
)
def test_every_error_that_botocore_models_is_mapped(service: str) -> None:
    model: Any = botocore.session.Session().get_service_model(service)
    codes = {
        code
        for name in model.operation_names
        for shape in model.operation_model(name).error_shapes
        for code in (shape.name, shape.error_code)
    }
    assert codes
    assert codes - KNOWN_CODES == set()


def test_no_code_means_two_things() -> None:
    assert "ResourceNotFoundException" not in ERROR_BY_CODE
    assert set(ERROR_BY_CODE) | {"ResourceNotFoundException"} == KNOWN_CODES


@pytest.mark.parametrize(
    ("call", "status", "code", "expected"),
    [
        (SCAN, 400, "ProvisionedThroughputExceededException", ThrottledError),
        (SCAN, 400, "ThrottlingException", ThrottledError),
        (SCAN, 400, "RequestLimitExceeded", ThrottledError),
        (RECORDS, 400, "LimitExceededException", ThrottledError),
        (SCAN, 500, "InternalServerError", TransientNetworkError),
        (SCAN, 503, "ServiceUnavailable", TransientNetworkError),
        (RECORDS, 400, "ExpiredIteratorException", IteratorExpiredError),
        (RECORDS, 400, "TrimmedDataAccessException", TrimmedDataError),
        (SCAN, 400, "ResourceNotFoundException", TableGoneError),
        (RECORDS, 400, "ResourceNotFoundException", StreamGoneError),
        (Call("dynamodb:DescribeStream", ARN), 400, "ResourceNotFoundException", StreamGoneError),
        (Call("dynamodb:DescribeTable", "t"), 400, "ResourceNotFoundException", TableGoneError),
        (SCAN, 400, "ValidationException", InvalidRequestError),
        (SCAN, 400, "AccessDeniedException", AccessDeniedError),
        (SCAN, 400, "ExpiredTokenException", AccessDeniedError),
        (SCAN, 400, "UnrecognizedClientException", AccessDeniedError),
        (SCAN, 400, "InvalidSignatureException", AccessDeniedError),
        (SCAN, 400, "ConditionalCheckFailedException", ConflictError),
        (
            Call("tag:GetResources", "tables"),
            400,
            "PaginationTokenExpiredException",
            RetriableError,
        ),
        (SCAN, 400, "SomethingNewException", InvalidRequestError),
        (SCAN, 500, "SomethingNewException", TransientNetworkError),
        (SCAN, 429, "", ThrottledError),
        (SCAN, 408, "", TransientNetworkError),
        (SCAN, 502, "", TransientNetworkError),
        (SCAN, 403, "", AccessDeniedError),
        (SCAN, 404, "", InvalidRequestError),
        (SCAN, 302, "", InvalidRequestError),
    ],
)
def test_both_roads_give_an_answer_the_same_meaning(
    call: Call, status: int, code: str, expected: type[ConnectdError]
) -> None:
    body = orjson.dumps({"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "no"})
    on_the_wire = translate_fault(parse_wire_fault(status, body), call)
    through_boto = translate(client_error(code, status=status), call)
    assert type(on_the_wire) is expected
    assert type(through_boto) is expected
    assert str(on_the_wire) == str(through_boto)
    assert str(call) in str(on_the_wire)


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        (b'{"__type":"com.amazon.coral.service#AccessDenied","Message":"M"}', "AccessDenied", "M"),
        (b'{"__type":"Plain:http://more","message":"m"}', "Plain", "m"),
        (b'{"__type":"a#B"}', "B", "no message"),
        (b'{"message":"m"}', "", "m"),
        (b'{"__type":null,"message":null}', "", "no message"),
        (b"<html>Bad Gateway</html>", "", "24 bytes that are not an AWS error"),
        (b"", "", "0 bytes that are not an AWS error"),
        (b"[]", "", "2 bytes that are not an AWS error"),
        (b'{"__type":"\xff"}', "", "14 bytes that are not an AWS error"),
        (b'{"__type":"a#B","message":"m","ThrottlingReasons":"odd"}', "B", "m"),
    ],
)
def test_any_error_body_can_be_read(body: bytes, code: str, message: str) -> None:
    fault = parse_wire_fault(400, body)
    assert (fault.code, fault.message) == (code, message)


def test_a_denial_names_the_action_and_the_resource_that_aws_named() -> None:
    """Spec field-cases D13."""
    message = (
        "User: arn:aws:sts::111122223333:assumed-role/reader/connectd is not authorized to "
        f"perform: dynamodb:DescribeStream on resource: {ARN} because no identity-based policy "
        "allows the dynamodb:DescribeStream action"
    )
    fault = ServiceFault(400, "AccessDeniedException", message)
    error = translate_fault(fault, Call("dynamodb:DescribeStream", "stream x"))
    assert isinstance(error, AccessDeniedError)
    assert not isinstance(error, RetriableError)
    assert str(error).endswith(
        f"allow the action dynamodb:DescribeStream on {ARN} to these credentials"
    )


@pytest.mark.parametrize(
    "tried", [f"iterator of stream {ARN}", f"shard shardId-1 of stream {ARN}", f"stream {ARN}"]
)
def test_a_denial_without_details_names_the_arn_of_what_was_tried(tried: str) -> None:
    fault = ServiceFault(400, "AccessDeniedException", "no message")
    error = translate_fault(fault, Call("dynamodb:GetRecords", tried))
    assert str(error).endswith(
        f"allow the action dynamodb:GetRecords on {ARN} to these credentials"
    )


def test_a_denial_without_details_names_what_was_tried() -> None:
    """Spec field-cases D13: the tagging API may say no more than that it refuses."""
    error = translate_fault(
        ServiceFault(400, "AccessDeniedException", "no message"), Call("tag:GetResources", "tables")
    )
    assert "allow the action tag:GetResources on tables" in str(error)


def test_the_reasons_of_throttling_are_told() -> None:
    reasons = [
        {"reason": "TableReadProvisionedThroughputExceeded", "resource": "arn:..."},
        {"reason": "TableReadKeyRangeThroughputExceeded", "resource": "arn:..."},
        {"resource": "arn:..."},
        "odd",
    ]
    body = orjson.dumps(
        {"__type": "a#ThrottlingException", "message": "slow down", "ThrottlingReasons": reasons}
    )
    error = translate_fault(parse_wire_fault(400, body), SCAN)
    assert isinstance(error, ThrottledError)
    assert str(error) == (
        "dynamodb:Scan on table orders: ThrottlingException: slow down "
        "(TableReadProvisionedThroughputExceeded, TableReadKeyRangeThroughputExceeded)"
    )


def test_a_refused_signature_does_not_leak_the_request_that_aws_quotes() -> None:
    message = (
        "The request signature we calculated does not match the signature you provided.\n\n"
        "The Canonical String for this request should have been\n'POST\n/\n\n"
        "x-amz-security-token:FQoGZXIvYXdzSECRET\n'"
    )
    error = translate_fault(ServiceFault(400, "InvalidSignatureException", message), SCAN)
    assert "FQoG" not in str(error)
    assert "does not match the signature you provided" in str(error)
    assert "clock" in str(error)


def test_a_long_message_is_cut() -> None:
    error = translate_fault(ServiceFault(400, "ValidationException", "x" * 10_000), SCAN)
    assert len(str(error)) < 1000


def connection_key() -> ConnectionKey:
    return ConnectionKey("host", 443, True, True, None, None, None)


@pytest.mark.parametrize(
    ("foreign", "expected"),
    [
        (boto.NoCredentialsError(), AccessDeniedError),
        (boto.PartialCredentialsError(provider="env", cred_var="SECRET"), AccessDeniedError),
        (boto.CredentialRetrievalError(provider="iam", error_msg="x"), AccessDeniedError),
        (boto.UnauthorizedSSOTokenError(), AccessDeniedError),
        (boto.EndpointConnectionError(endpoint_url="http://h"), TransientNetworkError),
        (boto.ConnectTimeoutError(endpoint_url="http://h"), TransientNetworkError),
        (boto.ReadTimeoutError(endpoint_url="http://h"), TransientNetworkError),
        (boto.ConnectionClosedError(endpoint_url="http://h"), TransientNetworkError),
        (boto.ProxyConnectionError(proxy_url="http://p"), TransientNetworkError),
        (boto.SSLError(endpoint_url="http://h", error=OSError("x")), TransientNetworkError),
        (boto.HTTPClientError(error="x"), TransientNetworkError),
        (ResponseParserError("not xml"), TransientNetworkError),
        (boto.NoRegionError(), ConfigError),
        (boto.InvalidRegionError(region_name="no such region"), ConfigError),
        (boto.ProfileNotFound(profile="p"), ConfigError),
        (boto.ParamValidationError(report="x"), InvalidRequestError),
        (boto.BotoCoreError(), InvalidRequestError),
        (aiohttp.ServerDisconnectedError(), TransientNetworkError),
        (aiohttp.ClientPayloadError("half a body"), TransientNetworkError),
        (aiohttp.ClientConnectorError(connection_key(), OSError(111, "x")), TransientNetworkError),
        (
            aiohttp.ClientConnectorDNSError(connection_key(), OSError(-2, "no name")),
            TransientNetworkError,
        ),
        (
            aiohttp.ClientConnectorCertificateError(
                connection_key(), ssl.SSLCertVerificationError("self-signed")
            ),
            ConfigError,
        ),
        (aiohttp.InvalidURL("x"), ConfigError),
        (ConnectionResetError(), TransientNetworkError),
        (TimeoutError(), TransientNetworkError),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_foreign_exceptions_have_a_meaning(
    foreign: Exception, expected: type[ConnectdError]
) -> None:
    found = translate(foreign, SCAN)
    assert type(found) is expected
    assert str(found).startswith("dynamodb:Scan on table orders: ")
    assert len(str(found)) > len("dynamodb:Scan on table orders: ")


def test_every_exception_of_botocore_has_some_meaning() -> None:
    """botocore adds exceptions; a new one must not slip through untranslated."""
    found = [
        each
        for each in vars(boto).values()
        if isinstance(each, type) and issubclass(each, boto.BotoCoreError)
    ]
    assert len(found) > 50
    for each in found:
        assert translate(each.__new__(each), SCAN) is not None


def test_our_own_exceptions_pass_and_bugs_are_left_alone() -> None:
    own = ThrottledError("slow")
    assert translate(own, SCAN) is own
    assert translate(KeyError("bug"), SCAN) is None
