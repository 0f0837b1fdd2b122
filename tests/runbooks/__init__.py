"""The runbooks of ``docs/runbooks``, typed into a real shell against real parts.

The room's map:

* ``page``       what stands in a page: commands with their answers, files, events, checks
* ``notation``   how an answer on a page is compared with the one that came
* ``shell``      the bash into which a page is typed
* ``runner``     a page from its first line to its last
* ``stage``      broker, scripted DynamoDB, worker, and the names that a page stands for
* ``events``     what happens to an operator: a broker goes down, a stream is replaced
* ``checks``     what must be true behind a page's back: the topic holds what the table holds

How a page is written stands in ``docs/runbooks/README.md``, "How these pages are kept true".
"""
