"""botocore sessions and boto3 clients for one ``AwsSettings``: blocking, no event loop here.

Retries are off (we retry), timeouts explicit, account-id endpoints off wherever an endpoint is
overridden. The credentials of all clients are one ``RenewableCredentials``.

Making the first client reads megabytes of JSON from disk (50 ms), so it belongs in a thread.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Literal, overload

import botocore.session
import structlog
from boto3.session import Session
from botocore.config import Config
from botocore.credentials import (
    CredentialProvider,
    CredentialResolver,
    Credentials,
    create_credential_resolver,
)

from connectd import __version__
from connectd.aws.credentials import AssumedRole, NotedTime, RenewableCredentials
from connectd.aws.errors import Call
from connectd.aws.settings import AwsSettings

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodbstreams import DynamoDBStreamsClient
    from mypy_boto3_resourcegroupstaggingapi import ResourceGroupsTaggingAPIClient
    from mypy_boto3_sts import STSClient

log = structlog.get_logger(__name__)

USER_AGENT = f"connectd/{__version__}"

# Control-plane calls in flight at once, and so the connections of each boto3 client. Describing a
# thousand tables takes seconds with eight; more would only meet the account's limits sooner.
CONTROL_PLANE_CALLS_MAX = 8


class _Given(CredentialProvider):
    """Hands botocore the credentials that we made."""

    METHOD = "connectd"
    CANONICAL_NAME = "connectd"

    def __init__(self, credentials: Credentials) -> None:
        super().__init__()
        self._credentials = credentials

    def load(self) -> Credentials:
        return self._credentials


def client_config(settings: AwsSettings, *, has_endpoint: bool) -> Config:
    """botocore's settings, every one that matters spelled out."""
    return Config(
        region_name=settings.region,
        connect_timeout=settings.connect_timeout_s,
        read_timeout=settings.read_timeout_s,
        max_pool_connections=CONTROL_PLANE_CALLS_MAX,
        retries={"total_max_attempts": 1, "mode": "standard"},
        account_id_endpoint_mode="disabled" if has_endpoint else settings.account_id_endpoint_mode,
        endpoint_discovery_enabled=False,
        user_agent_extra=USER_AGENT,
    )


class AwsSession:
    """Credentials and client maker of one ``AwsSettings``."""

    def __init__(self, settings: AwsSettings, time: NotedTime) -> None:
        self._settings = settings
        # Clients may be used from any thread; making them is not safe to do in two at once.
        self._making = threading.Lock()
        if settings.has_half_a_key_pair:
            log.warning(
                "half of a static AWS key pair is ignored, the default chain is used",
                has_access_key_id=settings.access_key_id is not None,
            )
        self._chain = botocore.session.Session()
        self._chain.set_config_variable("region", settings.region)
        base = RenewableCredentials(self._load_base, method="connectd")
        if settings.assume_role_arn is None:
            self.credentials = base
            self.credentials_call = Call("loading AWS credentials", settings.region)
        else:
            role = AssumedRole(settings, lambda: self._sts_client(base), time)
            self.credentials = RenewableCredentials(role.load, method="assume-role")
            self.credentials_call = Call("sts:AssumeRole", settings.assume_role_arn)
        self._session = self._session_with(self.credentials)

    def _load_base(self) -> Credentials | None:
        """Static keys, or what botocore's chain finds now."""
        settings = self._settings
        if settings.access_key_id is not None and settings.secret_access_key is not None:
            return Credentials(
                settings.access_key_id,
                settings.secret_access_key,
                settings.session_token,
                method="connectd-settings",
            )
        # A new one each time: it keeps what STS gave it, also when AWS no longer takes that.
        resolver = create_credential_resolver(self._chain, region_name=settings.region)
        return resolver.load_credentials()

    def _session_with(self, credentials: Credentials) -> Session:
        session = botocore.session.Session()
        # The parsed service models are the heavy part of a session; all of ours share them.
        session.register_component("data_loader", self._chain.get_component("data_loader"))
        session.register_component("credential_provider", CredentialResolver([_Given(credentials)]))
        return Session(botocore_session=session, region_name=self._settings.region)

    def _sts_client(self, base: Credentials) -> STSClient:
        endpoint = self._settings.sts_endpoint
        return self._session_with(base).client(
            "sts",
            endpoint_url=endpoint,
            config=client_config(self._settings, has_endpoint=endpoint is not None),
        )

    @overload
    def client(self, service: Literal["dynamodb"]) -> DynamoDBClient: ...
    @overload
    def client(self, service: Literal["dynamodbstreams"]) -> DynamoDBStreamsClient: ...
    @overload
    def client(
        self, service: Literal["resourcegroupstaggingapi"]
    ) -> ResourceGroupsTaggingAPIClient: ...
    @overload
    def client(self, service: Literal["s3"]) -> Any: ...
    def client(self, service: Any) -> Any:
        """A boto3 client (blocking: reads service models). Raises botocore's exceptions."""
        endpoint = {
            "dynamodb": self._settings.dynamodb_endpoint,
            "dynamodbstreams": self._settings.streams_endpoint,
            "resourcegroupstaggingapi": self._settings.tagging_endpoint,
            "s3": self._settings.s3_endpoint,
        }[service]
        config = client_config(self._settings, has_endpoint=endpoint is not None)
        if service == "s3" and endpoint is not None:
            # Host names of buckets resolve in AWS only.
            config = config.merge(Config(s3={"addressing_style": "path"}))
        with self._making:
            return self._session.client(service, endpoint_url=endpoint, config=config)

    def ca_bundle(self) -> str | None:
        """The file of trusted certificates that boto3 was told to use, or None for its own."""
        bundle = self._chain.get_config_variable("ca_bundle")
        return str(bundle) if bundle else None
