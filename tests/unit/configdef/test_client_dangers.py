"""What no policy lets through: code, commands, files of the worker, and broken promises."""

from __future__ import annotations

import pytest

from connectd.configdef import client_dangers
from connectd.configdef.overrides import OverridePolicy
from connectd.errors import ConfigError

ALL = OverridePolicy.named("All", [])


@pytest.mark.parametrize("policy", ["All", "None", "Principal", "Allowlist"])
@pytest.mark.parametrize("setting", sorted(client_dangers.NEVER))
def test_what_is_never_allowed_is_not_allowed_by_any_policy(policy: str, setting: str) -> None:
    problems = OverridePolicy.named(policy, [setting]).errors(setting, "x")
    assert any(
        problem.startswith(f"'{setting}' cannot be overridden") and "under any policy" in problem
        for problem in problems
    )


@pytest.mark.parametrize(
    ("setting", "value", "reason"),
    [
        ("plugin.library.paths", "/tmp/evil.so", "loads a library"),
        ("sasl.kerberos.kinit.cmd", "rm -rf /", "a command that the worker runs"),
        ("ssl.engine.anything.new", "x", "loads a library"),
        ("config.providers", "file", "read files and environment"),
        ("config.providers.file.class", "FileConfigProvider", "read files and environment"),
        ("some.future.handler.class", "a.B", "names a class"),
        ("some.future.classes", "a.B,c.D", "names a class"),
        ("partitioner.class", "com.example.Evil", "names a class"),
        ("key.serializer", "com.example.Evil", "names a class"),
        ("sasl.oauthbearer.token.endpoint.url", "file:///etc/passwd", "does not begin with https"),
        ("sasl.oauthbearer.token.endpoint.url", "http://169.254.169.254/", "begin with https"),
        ("sasl.oauthbearer.assertion.file", "/etc/shadow", "read and sent elsewhere"),
        ("sasl.kerberos.principal", "me; touch /tmp/x", "part of a shell command"),
        ("sasl.kerberos.keytab", "$(id)", "part of a shell command"),
        ("sasl.kerberos.service.name", "%{sasl.password}", "part of a shell command"),
    ],
)
def test_a_danger_is_told_with_its_reason(setting: str, value: str, reason: str) -> None:
    (problem,) = ALL.errors(setting, value)
    assert reason in problem


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("linger.ms", "5"),
        ("bootstrap.servers", "other:9092"),
        ("key.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer"),
        ("partitioner.class", ""),
        ("sasl.oauthbearer.token.endpoint.url", "https://idp.example.com/token"),
        ("sasl.kerberos.principal", "connect/host-1.example.com@EXAMPLE.COM"),
        ("sasl.kerberos.keytab", "/etc/security/connect.keytab"),
        ("ssl.keystore.location", "/etc/ssl/me.p12"),
        ("acks", "all"),
        ("acks", " -1 "),
        ("enable.idempotence", "false"),
        ("max.in.flight.requests.per.connection", "5"),
        ("partitioner", "murmur2_random"),
        ("nobody.knows.this", "x"),
    ],
)
def test_ordinary_settings_are_let_through(setting: str, value: str) -> None:
    assert ALL.errors(setting, value) == []


@pytest.mark.parametrize(
    "text",
    [
        'org.apache.kafka.common.security.plain.PlainLoginModule required username="u;v" '
        'password="a;b com.x.Y required";',
        "org.apache.kafka.common.security.scram.ScramLoginModule required\n  username='u'\n"
        "  password='p' ;\n",
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;",
        "",
    ],
)
def test_the_well_known_login_modules_may_be_used(text: str) -> None:
    assert ALL.errors("sasl.jaas.config", text) == []


@pytest.mark.parametrize(
    ("text", "module"),
    [
        (
            'com.sun.security.auth.module.JndiLoginModule required user.provider.url="ldap://x";',
            "com.sun.security.auth.module.JndiLoginModule",
        ),
        ("com.sun.security.auth.module.LdapLoginModule required;", "LdapLoginModule"),
        ("com.example.CommandLoginModule optional", "com.example.CommandLoginModule"),
        (
            'org.apache.kafka.common.security.plain.PlainLoginModule required password="p"; '
            "com.sun.security.auth.module.JndiLoginModule optional;",
            "com.sun.security.auth.module.JndiLoginModule",
        ),
        ('PlainLoginModule required username="u" password="p";', "no class name"),
        ('password="hunter2"', "no class name"),
        ("hunter2", "no class name"),
    ],
)
def test_other_login_modules_may_not(text: str, module: str) -> None:
    (problem,) = ALL.errors("sasl.jaas.config", text)
    assert module in problem
    assert "expected PlainLoginModule, ScramLoginModule or OAuthBearerLoginModule" in problem
    assert "hunter2" not in problem
    assert "ldap:" not in problem


@pytest.mark.parametrize(
    ("setting", "value", "text"),
    [
        ("acks", "0", "acks: found 0, expected all"),
        ("acks", "1", "acks: found 1, expected all"),
        ("request.required.acks", "1", "found 1, expected all"),
        ("max.in.flight.requests.per.connection", "6", "expected at most 5"),
        ("max.in.flight", "100", "expected at most 5"),
        ("partitioner", "random", "lose their order"),
        ("transactional.id", "mine", "transactions are not used here"),
    ],
)
def test_a_producer_cannot_be_made_to_lose_or_mix_up_records(
    setting: str, value: str, text: str
) -> None:
    (problem,) = ALL.errors(setting, value, client="producer")
    assert text in problem
    assert problem.endswith("Remove it")
    assert ALL.errors(setting, value, client="consumer") == []


def test_a_policy_checks_all_overrides_of_a_client() -> None:
    policy = OverridePolicy.named("Principal", [])
    policy.check("producer", {"security.protocol": "SSL"})
    with pytest.raises(ConfigError) as caught:
        policy.check("producer", {"linger.ms": "a-value", "plugin.library.paths": "b-value"})
    text = str(caught.value)
    assert text.startswith("Client Config Overrides not allowed: The 'Principal' policy does not")
    assert "'plugin.library.paths' cannot be overridden" in text
    assert "-value" not in text
