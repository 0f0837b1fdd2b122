"""Differences to the Java worker that no comparison of answers shows, for the page of them all.

Some lie in how long something takes or where it is written, some in versions of Java, and some in
parts that are not built yet. One sentence each, under the subject that the page has them under.
"""

from __future__ import annotations

from typing import Final

BY_SUBJECT: Final = {
    "Not there yet": (
        "Sink connectors and exactly-once delivery.",
        "Plugins are Python classes: jars are not loaded, and `plugin.path` has no effect.",
        "A worker logs in to its group by PLAIN, SCRAM or OAUTHBEARER (`oidc` with a client's "
        "secret), or by its certificate; with GSSAPI it does not start.",
    ),
    "Several workers": (
        "A worker that hears nothing from the group's coordinator stops its tasks after two thirds "
        "of `session.timeout.ms`, and writes nothing any more when it is over (decision 12 in "
        "`docs/decisions`); Java's stops when it has looked for the coordinator in vain for "
        "`heartbeat.interval.ms`.",
        "Before it joins, a worker reads the config topic to its end and stops what that outdates; "
        "before it starts tasks, it reads the offsets topic to its end as well.",
        "While the group rebalances, requests that need the leader or an owner wait for its end, "
        "within their 90 s; where Java's answer 409 for stale configuration, these wait too. "
        "Questions are answered at once.",
        "A worker that is a member again under another id, at the same URL, gets back at once what "
        "it had; Java's leader lets it wait for `scheduled.rebalance.max.delay.ms`.",
        "A request that was passed on is given up as soon as another worker is to be asked, and "
        "is done there if it may be done twice (GET, PUT, restarts) or was never sent; otherwise "
        "the answer is 500, as for any worker that does not answer. Java's waits for the one that "
        "it has asked.",
        "A write that the worker which passed it on has given up, or whose 90 s are over, is not "
        "made any more; Java's leader that was frozen makes it when it wakes.",
        "A worker that has passed on a change reads the config topic to its end before it answers: "
        "who looks there next sees it.",
        "With Basic authentication, `connect.protocol` has to be `sessioned`; where a member of "
        "the group makes it fall back, requests between workers need a signature or a login. "
        "Java's takes task sets from anybody then.",
        "When a group falls back to `connect.protocol=eager`, the first round shares out nothing, "
        "so that nothing runs twice.",
    ),
    "Errors": (
        "`errors.retry.timeout` that is not set has no end here (an outage is waited for; decision "
        "9 in `docs/decisions`); Java's is 0. Set, it means the same, and a record whose retries "
        "are used up is judged by `errors.tolerance`; Java skips it in any case.",
        "While a record is tried again, those before it in its page wait with it.",
        "Records that Kafka refuses are logged with their topic and key; "
        "`errors.log.include.messages` shows the record of the other stages only.",
        "A request that Kafka kept from its end says what was in the way behind Java's sentence: "
        "`Failed to retrieve offsets for source connector c: …`.",
        "A topic that is deleted under a task is waited for by going back to the last position, "
        "five times in a row, and skips nothing, whatever is tolerated.",
    ),
    "Browsers": (
        "`/ui` is a dashboard (`connectd.ui.enable=false` takes it away).",
        "A browser sends a POST without a body for every page that asks it to, and with the login "
        "that it remembers. A change whose `Origin` is not the `Host` that was asked is therefore "
        "403, with a login and without, unless `access.control.allow.origin` has that origin; "
        "Java's restarts a connector for any page. Clients that send no `Origin` notice nothing.",
    ),
    "FileStreamSource": (
        "Positions count bytes, which is what a restart skips. Java's count characters: after a "
        "restart a file with other than ASCII text is read from the wrong place. A position that a "
        "Java worker wrote is right here as long as the file is ASCII up to it.",
        "Lines that do not fit in a batch come with the next poll; Java's wait for the file to "
        "grow.",
        "What cannot be read fails the task; Java's polls a directory for ever, and says nothing.",
    ),
    "Numbers as text": (
        "Floating-point numbers have the texts of Java 19 and later, the fewest digits that tell a "
        "number apart: `Cast` to `float32` of 2147483648 is `2.1474836E9`, in JSON too. Java 17 "
        "and 18 write some numbers with more digits (`2.14748365E9`); they are the same numbers.",
    ),
    "Dates and time zones": (
        "Patterns are those of `SimpleDateFormat` in English and UTC. Names of zones, and what "
        "their offsets were when, are those of Java 17 in English; a Java worker takes them from "
        "its own version, and names in other languages where its locale is another one.",
        "Moments end with the years 1 and 9999, and years before the common era cannot be told: a "
        "text of such a one fails the record.",
        "Days before 15 October 1582 are Gregorian ones when they are read or written as text; "
        "Java's are Julian. Numbers and logical types are not touched by that.",
    ),
    "Settings": (
        "A Java class that exists but is no converter (`value.converter=java.lang.String`) could "
        "not be found; Java's message says that it does not implement the interface.",
        "An encoding of `StringConverter` that is not there fails the task at its start; in Java "
        "each record fails.",
        "A setting of a worker's list that names an entry twice is taken once, as in Java, but "
        "without the warning in the log.",
    ),
}
