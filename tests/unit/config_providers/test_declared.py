"""Which providers a worker's properties declare."""

from __future__ import annotations

import pytest

from connectd.config_providers import declared
from connectd.config_providers.directory import DirectoryConfigProvider
from connectd.config_providers.environment import EnvVarConfigProvider
from connectd.config_providers.properties_file import FileConfigProvider
from connectd.errors import ConfigError

JAVA = "org.apache.kafka.common.config.provider."


def test_each_name_gets_its_class_and_its_parameters() -> None:
    providers = declared.make_providers(
        {
            "config.providers": "file, dir ,env",
            "config.providers.file.class": f"{JAVA}FileConfigProvider",
            "config.providers.dir.class": " DirectoryConfigProvider ",
            "config.providers.env.class": f"{JAVA}EnvVarConfigProvider",
            "config.providers.env.param.allowlist.pattern": "NOTHING",
            "config.providers.unused.class": "whatever",
        }
    )
    assert list(providers) == ["file", "dir", "env"]
    assert isinstance(providers["file"], FileConfigProvider)
    assert isinstance(providers["dir"], DirectoryConfigProvider)
    assert isinstance(providers["env"], EnvVarConfigProvider)
    assert providers["env"].get("", {"PATH"}).values == {}


def test_without_the_list_there_are_none() -> None:
    assert declared.make_providers({}) == {}
    assert declared.make_providers({"config.providers": " "}) == {}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({}, "names the provider 'vault', but config.providers.vault.class is not set; set it to"),
        (
            {"config.providers.vault.class": "com.example.Vault"},
            "config provider 'vault': config.providers.vault.class is com.example.Vault, which is "
            "not part of this installation; set it to one of org.apache.kafka",
        ),
        (
            {
                "config.providers.vault.class": "FileConfigProvider",
                "config.providers.vault.param.allowed.paths": "here",
            },
            "config provider 'vault' (FileConfigProvider): Path here is not valid. The path should "
            "be absolute and exist",
        ),
    ],
)
def test_an_error_names_the_provider_its_class_and_the_way_out(
    more: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        declared.make_providers({"config.providers": "vault", **more})
    assert message in str(caught.value)
