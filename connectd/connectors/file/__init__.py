"""The FileStream source: every line of a text file, or of standard input, becomes a record.

Where to look: ``lines`` cuts bytes into lines (pure), ``reading`` gets the bytes in a thread of its
own, ``offsets`` says what a position is and which ones a user may write, ``task`` puts them
together, ``connector`` and ``config`` declare it all. Names, offsets and texts are those of Kafka's
connector (spec kafka-connect F.4); where its behaviour loses or delays lines, this one does not:

* positions count bytes, which is what a restart skips. Kafka's count characters, so that after a
  restart a file with other than ASCII text is read from the wrong place.
* lines that do not fit in a batch come with the next poll. Kafka's wait for the file to grow.
* what cannot be read fails the task. Kafka's polls a directory for ever and reports nothing.
"""
