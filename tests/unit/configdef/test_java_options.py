"""Options of JVMs: what looks like a secret, and what goes by a file."""

from __future__ import annotations

import pytest

from connectd.configdef import java_options


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ("-Ddb.pwd=x", "db.pwd"),
        ("-Dmy.credential=x", "my.credential"),
        ("-Da=b -Dauth=x", "auth"),
        ("-Dsun.pass=x", "sun.pass"),
        ("-Dtruststore.pw=x", "truststore.pw"),
        ("-Dfoo.bearer=x", "foo.bearer"),
        ("-Dlicense.key=x", "license.key"),
        ("-DlicenseKey=x", "licenseKey"),
        ("-Dspark.hadoop.fs.azure.account.key.x=x", "spark.hadoop.fs.azure.account.key.x"),
        ("-javaagent:/a.jar=apikey=abc", "apikey"),
        ("-javaagent:/a.jar=host=h,api_key:abc", "api_key"),
        ("'-Dx.token=a b'", "x.token"),
        ("-XX:Flags= -Dpassword = x", "password"),
        ("-Dproxy=http://me:hush@proxy:80", "an address with a password"),
    ],
)
def test_a_secret_is_seen_by_its_name_in_whatever_option(options: str, name: str) -> None:
    assert java_options.exposure(options) == name


@pytest.mark.parametrize(
    "options",
    [
        "",
        "-Xss4m -XX:+UseG1GC -XX:MaxMetaspaceSize=256m -Dfile.encoding=UTF-8",
        "-Djava.security.auth.login.config=/etc/jaas.conf -Djavax.net.ssl.trustStore=/etc/trust",
        "-Dlog4j2.configurationFile=file:/etc/log4j2.xml -Dhttp.proxyHost=proxy",
        "-Dmonkey=1 -Dcompass.author=x -Dspin=1 -agentlib:jdwp=transport=dt_socket,address=*:5005",
        "--add-opens=java.base/java.lang=ALL-UNNAMED @/etc/connectd/java.options",
    ],
)
def test_ordinary_options_are_no_secrets(options: str) -> None:
    assert java_options.exposure(options) == ""


def test_options_become_the_content_of_files_and_files_of_the_user_stay_in_their_place() -> None:
    given = java_options.split(r"""-Da="x y" @/own -Db='\ "' @@c -Dd=1""")
    assert java_options.argument_files(given) == [
        '"-Da=x y"\n',
        "@/own",
        '"-Db=\\\\ \\""\n"@c"\n"-Dd=1"\n',
    ]
    assert java_options.argument_files([]) == []


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ('-Da="b', "a quote that is not closed"),
        ("-Xmx2g", "set spark.driver.memory"),
        ("-Da=b", ""),
    ],
)
def test_what_spark_would_refuse_is_said(options: str, says: str) -> None:
    found = java_options.problem(options)
    assert says in found
    assert bool(found) == bool(says)
