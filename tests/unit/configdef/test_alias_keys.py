"""Keys of transforms and predicates as Kafka embeds them among those of a connector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from connectd.configdef import validation, validators
from connectd.configdef.connector import alias_keys, alias_plugin_keys
from connectd.configdef.definition import ConfigDef, ConfigKey, ConfigType, Importance


def offers(given: Mapping[str, str]) -> Sequence[str]:
    return sorted(given)


PLUGIN_DEF = ConfigDef(
    [
        ConfigKey("z.low", ConfigType.INT, "Z.", Importance.LOW, 1, "Own", 2),
        ConfigKey("a.late", ConfigType.INT, "A.", Importance.HIGH, 1, "Own", 3),
        ConfigKey("b.low", ConfigType.STRING, "B.", Importance.LOW, None, recommender=offers),
        ConfigKey("c.high", ConfigType.STRING, "C.", Importance.HIGH, None,
                  dependents=("b.low",), display_name="See"),
        ConfigKey("d.must", ConfigType.INT, "D.", Importance.LOW,
                  validator=validators.at_least(1)),
        ConfigKey("negate", ConfigType.INT, "Masked.", Importance.HIGH, 7),
        ConfigKey("old.style", ConfigType.INT, "O.", Importance.LOW, 7, aliases=("older",)),
    ]
)  # fmt: skip


def test_a_transform_has_its_own_keys_and_two_of_every_transform_in_kafkas_order() -> None:
    keys = alias_plugin_keys("transforms", "t", PLUGIN_DEF)
    assert [(key.name, key.order, key.group) for key in keys] == [
        ("transforms.t.d.must", 2, "Transforms: t"),
        ("transforms.t.c.high", 3, "Transforms: t"),
        ("transforms.t.negate", 4, "Transforms: t"),
        ("transforms.t.predicate", 5, "Transforms: t"),
        ("transforms.t.b.low", 6, "Transforms: t"),
        ("transforms.t.old.style", 7, "Transforms: t"),
        ("transforms.t.z.low", 8, "Transforms: t: Own"),
        ("transforms.t.a.late", 9, "Transforms: t: Own"),
    ]


def test_the_keys_of_every_transform_take_the_place_of_the_plugins() -> None:
    keys = {key.name: key for key in alias_plugin_keys("transforms", "t", PLUGIN_DEF)}
    assert keys["transforms.t.negate"].type is ConfigType.BOOLEAN
    predicate = {key.name: key for key in alias_plugin_keys("predicates", "p", PLUGIN_DEF)}
    assert predicate["predicates.p.negate"].type is ConfigType.INT
    assert "predicates.p.predicate" not in predicate


def test_names_within_a_key_have_the_prefix_and_those_shown_do_not() -> None:
    keys = {key.name: key for key in alias_plugin_keys("transforms", "t", PLUGIN_DEF)}
    assert keys["transforms.t.c.high"].dependents == ("transforms.t.b.low",)
    assert keys["transforms.t.c.high"].display_name == "See"
    assert keys["transforms.t.b.low"].display_name == "b.low"
    assert keys["transforms.t.old.style"].aliases == ("transforms.t.older",)


def test_a_validator_and_a_recommender_are_told_the_plugins_own_names() -> None:
    definition = ConfigDef(alias_plugin_keys("transforms", "t", PLUGIN_DEF))
    config = {"transforms.t.d.must": "0", "transforms.t.x": "1", "transforms.u.y": "2"}
    values = {value.name: value for value in validation.validate(definition, config)}
    assert values["transforms.t.d.must"].errors == (
        "Invalid value 0 for configuration d.must: Value must be at least 1",
    )
    assert values["transforms.t.b.low"].recommended == ("d.must", "x")
    unset = {value.name: value for value in validation.validate(definition, {})}
    assert unset["transforms.t.d.must"].errors == (
        'Missing required configuration "transforms.t.d.must" which has no default value.',
        "Invalid value null for configuration d.must: Value must be non-null",
    )


def test_type_and_version_come_first() -> None:
    infos = [validation.key_info(key) for key in alias_keys("predicates", "p", "1.2")]
    for info in infos:
        del info["documentation"]
    assert infos == [
        {
            "name": "predicates.p.type",
            "type": "CLASS",
            "required": True,
            "default_value": None,
            "importance": "HIGH",
            "group": "Predicates: p",
            "order_in_group": 0,
            "width": "LONG",
            "display_name": "Predicate type for p",
            "dependents": [],
        },
        {
            "name": "predicates.p.plugin.version",
            "type": "STRING",
            "required": False,
            "default_value": "1.2",
            "importance": "HIGH",
            "group": "Predicates: p",
            "order_in_group": 1,
            "width": "LONG",
            "display_name": "Predicate version for p",
            "dependents": [],
        },
    ]
