"""Regular expressions, asked of ``java.util.regex.Pattern``: by hand, and made from the grammar.

Two cases for each pattern: where it matches, and what its groups hold and ``replaceFirst`` makes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from tests.conformance.vectors import pattern_grammar
from tests.conformance.vectors.cases import case

Json = Any
SEEDS: Final = (17, 71)
GENERATED_EACH: Final = 400

TEXTS: Final = (
    *("", "a", "b", "ab", "abc", "aab", "ABC", "a.b", "a\nb", "abc\n", "a\r\n", "\r\n", "a-b-c"),
    *(
        "dynamodb-orders",
        "orders-12",
        "or.a7",
        "or.q7",
        "αβγ",
        "é",
        "É",
        "K",
        "\u212a",
        "s",
        "\u017f",
    ),
    *(
        "ß",
        "ẞ",
        "İ",
        "\u0131",
        "٣",
        "12",
        "_",
        "-",
        "&",
        "^",
        "]",
        "[",
        "{",
        "a{",
        "a b",
        "\t",
        "\x1b",
    ),
    *("a\u0301b", "\u0301", "😀", "a😀b", "\u2028", "\x85", "\xa0", "#", "x y", "ᾳ", "中", "ǅ"),
)
NEWER_LETTER: Final = "\U0001df00"  # of Unicode 14
REPLACEMENTS: Final = ("x-$0", "<$1>", "$2$1", "${n}", "$10", r"\$1\\", "$", "${", "$x", "${1}")

TOPICS: Final = (
    r"(.*)", r"dynamodb-(.*)", r"([^-]+)-([^-]+)-?(.*)", r".*\.(\w+)$", r"[a-z]+-(\d+)",
    r"(?<n>[a-z]+)-(?<m>.*)", r"^orders-.*$", r"(?!internal)(.*)", r"(?i)DYNAMODB-(ORDERS)",
    r"(a|b)*c?", r"((a)|b)+c?", r"(a)(b)?(c)", r"(?:(a)|b)*", r"orders-(1|2)+", r"(.+?)-(.*)",
    r"((dynamodb|orders)-)*(.*)", r"(.*)-(.*)", r"(.)(.)", r"(?=(.))\1+", r"(a?)*b?", r"(a*)+b?",
)  # fmt: skip
SETS: Final = (
    r"[or]+\.[a-z&&[^q]]\d+", r"[a-d[m-p]]+", r"[^\W&&[^a]]+", r"[[a]b]+", r"[a-z&&[def]]",
    r"[a-z&&[^m-p]]+", r"[a-c&&^b]", r"[a-c&&[^b]]", r"[^a-c&&[b]]", r"[a-c&&b-z&&b]", r"[&&a]",
    r"[a-c&&[bc]x]", r"[a-z&&[ab]b-c&&[c]]", r"[ab&&[bc]&&[c]]", r"[a&&]", r"[a&b]", r"[a&&&b]",
    r"[a&&[b]&c]", r"[&&]", r"[^a&&b]", r"[[^a][^b]]", r"[[^a]&&[^b]]", r"[^[^a]]", r"[^[^a][^b]]",
    r"[]a]+", r"[^]a]+", r"[]", r"[^]", r"[a-]+", r"[\-a]+", r"[a-\]]", r"[a\-z]+", r"[-a]",
    r"[a-b-c]+", r"[a-[b]]+", r"[+--]", r"[a--b]", r"[b-a]", r"[\d-z]+", r"[a-\d]", r"[\w.]+",
    r"[\v]", r"[\v-a]", r"[\t-\v]", r"[[:alpha:]]+", r"[a||b]", r"[a~~b]", r"[\Q]a\E]+", r"[^\.]+",
    r"[\p{L}\d]+", r"[^\p{L}]+", r"[\P{L}&&[^\d]]", r"[\x{1F600}]", r"[\n]", r"[\b]", r"[\R]",
    r"(?i)[a-c]+", r"(?i)[^a]", r"(?i)[Z-a]", r"(?iu)[k]", r"(?iu)[a-z]", r"(?iu)[A-Z]",
    r"(?iu)[à-é]", r"(?x)[a b #\n]+", r"(?x)[ ^a]", r"(?x)[^ a]", r"[a", r"[a&&b", r"[a[b]", r"a]",
    r"[\uD83D\uDE00]", r"[\x41-\x{43}]+", r"[\cA-\cZ]", r"[\0141]", r"[\1]", r"[a-z&&\w&&[^b]]+",
    r"[\p{Lower}&&[^a]]", r"[^\n\r]", r"[.]", r"[$]", r"[(]", r"[*+?{}|]", r"[\\]", r"[^\d\s]+",
)  # fmt: skip
ESCAPES: Final = (
    r"\w+", r"\W+", r"\d+", r"\D+", r"\s+", r"\S+", r"\h+", r"\H+", r"\v", r"\V+", r"\R", r"\R\n",
    r"\R?\n", r"\R*\n", r"(\R)?\n", r"\R{2}", r"a\R", r"\X", r"\N{LATIN SMALL LETTER B}",
    r"\N{FOO}", r"\b\w+\b", r"\ba", r"a\b.*", r"\B", r"a\B.*", r"\b{g}", r"\G", r"\Aabc", r"abc\Z",
    r"abc\z", r"a\x62c", r"\x{62}", r"\x{}", r"\x{110000}", r"\x6", r"\u0062", r"\u62",
    r"\uD83D\uDE00", r"\uD83D", r"\0142", r"\0", r"\08", r"\0777", r"\0400", r"\142", r"\cA", r"\c",
    r"\e", r"\t", r"\a", r"\f", r"\n", r"\r", r"\j", r"\y", r"\m", r"\M", r"\K", r"a\Kb", r"\L<x>",
    r"\l", r"\E", r"a\Eb", r"\Q", r"\Qabc\E", r"\Qa.b\E.*", r"\Qab\E+", r"\Q1\E2", r"1\Q2\E",
    r"\Qa\Qb\E", "\\Qa\\", r"\\Q", r"\_", r"\-", r"\!", r"\&", r"\ ", r"\é", r"\.", "\\", r"\1",
    r"(a)\1?b", r"(a)\2", r"(a)\10", r"(a)b\1", r"\2(a)(b)", r"(a\1)", r"(?i)(a)\1",
    r"(?<n>a)\k<n>?", r"\k<x>", r"\k", r"(?<n>a)\k<n", r"(.)\1",
    r"(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)\11", r"(a|b)*\1", r"(?iu)(a)\1",
)  # fmt: skip
_NAMED: Final = tuple(
    f"\\p{{{name}}}+"
    for name in (
        *("Alpha", "Alnum", "Digit", "Lower", "Upper", "Punct", "Space", "Blank", "Cntrl", "Graph"),
        *("Print", "XDigit", "ASCII", "L", "Lu", "Ll", "Lt", "LC", "LD", "L1", "N", "Nd", "M", "P"),
        *("S", "Z", "Zs", "C", "Cc", "Cn", "all", "IsL", "IsLu", "IsAlphabetic", "IsLetter"),
        *("IsDigit", "IsAlpha", "isLatin", "IsLatin", "IsGreek", "IsHan", "IsUppercase", "IsWord"),
        *("IsWhite_Space", "IsWhiteSpace", "IsPunctuation", "IsAssigned", "IsControl", "InGreek"),
        *("InBasicLatin", "InBasic_Latin", "InFoo", "IsFoo", "script=Greek", "sc=latin", "gc=Lu"),
        *("blk=Greek", "foo=Lu", "gc=Foo", "javaLowerCase", "javaUpperCase", "javaWhitespace"),
        *("javaSpaceChar", "javaISOControl", "javaLetterOrDigit", "javaDefined", "javaMirrored"),
        *("javaTitleCase", "Foo", "alpha", "ALPHA", "l", "IsTibetan", "IsLimbu", "InThaana"),
    )
)
PROPERTIES: Final = (
    *_NAMED, r"\pL", r"\PL", r"\pLu", r"\pX", r"\p", r"\p{", r"\p{L", r"\p{}", r"\P{Alpha}",
    r"\P{IsLatin}", r"(?i)\p{Lower}+", r"(?i)\p{Lu}", r"(?i)\p{javaLowerCase}", r"(?i)\p{Lt}",
    r"(?i)\p{IsUppercase}", r"(?U)\p{Alpha}+", r"(?U)\p{Punct}+", r"(?U)\p{Lower}",
    r"(?U)\p{Graph}", r"(?U)\p{Foo}", r"(?U)\p{alpha}", r"(?U)\p{XDigit}", r"(?Ui)\p{Upper}",
    r"(?U)\p{Space}", r"(?U)\p{Print}",
)  # fmt: skip
FLAGS: Final = (
    r"(?i)ABC", r"(?i)é", r"(?i)k", "(?i)\u017f", r"(?iu)É", r"(?iu)k", r"(?iu)s", r"(?iu)i",
    r"(?iu)ß", "(?iu)\u03b1", r"(?iu)中", r"(?u)\w+", r"(?U)\w+", r"(?U)\d", r"(?U)\b.+\b",
    r"(?U)\s", r"(?-U)\w", r"(?U)(?-u)\w", r"(?Ui)k", r"(?s)a.b", r"a.b", r"(?d)a.b", r"(?d).+",
    r"(?m)^a$", r"(?m)a$.*", r"(?m)^", r"(?sm)a.^b", r"(?dm)a$.b", r"(?d)abc$", r"(?d)a$", r"a$",
    r"a$\r\n", r"abc$", r"^abc$", r"(?x) a b c ", r"(?x)a#c" + "\nb", r"(?x)a\ b", r"(?x)a + b",
    r"(?x)a+ +b", r"(?x)( ?:a)b", r"(?x)(? :a)", r"(?x)a{1, 2}", r"(?x)\Q \Ea", r"(?x)a(?-x: )b",
    r"(?x)\x 61", r"(?x)a\# b", r"(?)a", r"(?-)a", r"(?i-s:a)B", r"(?i:a)b", r"(?i-i)a",
    r"(?i-m-s)a", r"(?ia", r"(?c)a", r"(?a)a", r"a(?i)b", r"(a(?i)b|c)D", r"(?:(?i)a)B", r"(?i)*",
    r"(?L)a", r"(?r)a", r"(?b)a", r"(?e)a", r"(?V1)a", r"(?f)a", r"(?p)a", r"(?w)a",
)  # fmt: skip
GROUPS: Final = (
    r"(?P<n>a)", r"(?P=n)", r"(?P>n)", r"\g<1>", r"(?<n>a)", r"(?<na_me>a)", r"(?<1a>b)",
    r"(?<aé>b)", r"(?<n>a)(?<n>b)", r"(?<n>a)|(?<n>b)", r"(?<>a)", r"(?<n>", r"(?<n", r"(?<", r"(?",
    r"(", r")", r"(?#comment)a", r"(?|a|b)", r"(?R)", r"(?1)(a)", r"(?(1)a|b)", r"(?'n'a)",
    r"(?$a)", r"(?@a)", r"(?>a|ab)c", r"(?>(a)|b)b", r"(?:a)(b)", r"(((a)))", r"()", r"()*",
    r"(|a)+", r"(a|)+b", r"(?=abc)abc", r"(?!x)abc", r"(?=a)*b?", r"(?<=a)b", r"(?<!a)b",
    r"a(?<=a)b", r"(?<=a*)b", r"a(?<=a{0,3})b", r"(?<=a+)b", r"a(?<=(a))b", r"aab(?<=(?:ab){1,2})",
    r"(?<=(?:a|b){2})c", r"ab(?<=a|ab)", r"(?<=\R)b", r"(?<=a?+)b", r"(?<=(?>a))b", r"(?<=\1)(a)",
    r"(?<=^a)b", r"abc(?<!b)", "(" * 41 + ")" * 41, "[" * 42 + "a" + "]" * 42,
)  # fmt: skip
TIMES: Final = (
    r"a{2,}", r"a{,2}", r"a{2}", r"a{02}", r"a{0}", r"a{1,0}", r"a{", r"a{b", r"a{1", r"a{1,",
    r"a{1,b}", r"a{1 }", r"a}", r"{a", r"{2}", r"a{2}{3}", r"a*{2}", r"a{2}*", r"(abc){e<=1}",
    r"a{99999999999}", r"a{2147483648}", r"a{0,2147483647}", r"*", r"+a", r"?", r"|*", r"(*a)",
    r"a**", r"a+*", r"a?+a", r"a++b", r"a*+c", r"a*+ab", r"a*?b", r"a??b", r"a+?b", r"a{1,2}?b",
    r"a{1,2}+b", r"(?:a|ab){2}+c?", r"(a|ab){1,2}+c", r"(a)++b", r"(a)*+b", r"^*a", r"$+", r"\b*a",
    r"\b+a", r"(?:)*", r"(?:a*)*b", r"(?:a?){3}b", r"(^a*?){2}b?", r"a||b", r"|", r"||a", r"a|",
    r"a&&b", r"ab#c", r"}", r"]",
)  # fmt: skip
PATTERNS: Final = (*TOPICS, *SETS, *ESCAPES, *PROPERTIES, *FLAGS, *GROUPS, *TIMES)


def pattern_cases() -> Iterator[Json]:
    """All of them."""
    for index, pattern in enumerate(PATTERNS):
        yield from _asked(pattern, REPLACEMENTS[index % len(REPLACEMENTS)], TEXTS)
    for pattern in TOPICS:
        for replacement in REPLACEMENTS:
            yield _case("pattern.groups", pattern, replacement, TEXTS)
    yield from _asked(r"\p{Ll}", "x", [NEWER_LETTER])
    for seed in SEEDS:
        for pattern, texts in pattern_grammar.patterns(seed, GENERATED_EACH):
            yield from _asked(pattern, "<$0>", texts)


def _asked(pattern: str, replacement: str, texts: Sequence[str]) -> Iterator[Json]:
    yield _case("pattern.matches", pattern, replacement, texts)
    yield _case("pattern.groups", pattern, replacement, texts)


def _case(kind: str, pattern: str, replacement: str, texts: Sequence[str]) -> Json:
    return case(
        kind,
        "java.util.regex.Pattern",
        {},
        pattern=pattern,
        replacement=replacement,
        texts=list(texts),
    )
