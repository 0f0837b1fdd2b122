"""What plugins say of themselves about texts, so that not every record has to pass them.

A transform or predicate whose class says ``ignores_texts = True`` does the same whatever the texts
in a key or value say: it may move, copy, drop and replace them, and never looks into one but
through ``text_marks.read``. What it does may depend on everything else: fields, types, nulls,
topic, headers, timestamp. A converter
whose class has a ``text_form`` writes every text in this form, and everything around it the same,
whatever the text. Then one record shows what becomes of all that differ in texts alone
(``model.text_marks``).

Each class speaks for itself: a subclass may look where its parent does not.
"""

from __future__ import annotations

from connectd.model.text_marks import TextForm


def ignores_texts(plugin: object) -> bool:
    """Whether a transform or predicate does the same whatever texts say."""
    return vars(type(plugin)).get("ignores_texts") is True


def form_of(converter: object) -> TextForm | None:
    """The form in which a converter writes texts; None: it does not say."""
    if "text_form" not in vars(type(converter)):
        return None
    form = getattr(converter, "text_form")  # noqa: B009  of classes that need not have it
    return form if isinstance(form, TextForm) else None
