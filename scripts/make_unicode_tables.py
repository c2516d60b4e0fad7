#!/usr/bin/env python3
"""Writes src/base/unicode_ranges.inc: how the Rust library `tokenizers` classifies each code point.

    pip install tokenizers
    python3 scripts/make_unicode_tables.py

The library's crates use different Unicode versions (8 for punctuation, 16 for letters), so identical token ids
need its own tables. They are queried for every code point through its public interface.
"""
import pathlib

from tokenizers import Regex, normalizers, pre_tokenizers

POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
TARGET = pathlib.Path(__file__).resolve().parent.parent / "src/base/unicode_ranges.inc"


def ranges(points):
    found = []
    for point in points:
        if found and found[-1][1] == point - 1:
            found[-1][1] = point
        else:
            found.append([point, point])
    return found


def bert(**settings):
    off = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    return normalizers.BertNormalizer(**{**off, **settings})


def removed_by(normalizer):
    return [c for c in POINTS if normalizer.normalize_str(f"a{chr(c)}b") == "ab"]


def matched_by(pattern):
    """Code points that a pattern matches, found by splitting at it."""
    split = pre_tokenizers.Split(Regex(pattern), "isolated")
    between = lambda c: "\x01" if c != 1 else "\x02"
    return [c for c in POINTS if len(split.pre_tokenize_str(chr(c) + between(c))) > 1]


def pieces_of(text):
    return len(pre_tokenizers.BertPreTokenizer().pre_tokenize_str(text))


def inert():
    """Code points that the normalisation forms leave alone although later versions of Unicode give them a combining class
    or a decomposition: those assigned after Unicode 9."""
    import unicodedata
    nfkd, nfd = normalizers.NFKD(), normalizers.NFD()
    found = []
    for c in POINTS:
        s = chr(c)
        newer = unicodedata.category(s) == "Cn" or unicodedata.ucd_3_2_0.category(s) == "Cn"
        if not newer:
            continue
        before = nfd.normalize_str("a\u0301" + s + "\u0334")
        if before == "a\u0301" + s + "\u0334" and nfkd.normalize_str(s) == s:
            found.append(c)
    return found


def lowered():
    normalizer = normalizers.Lowercase()
    rows = []
    for c in POINTS:
        made = normalizer.normalize_str(chr(c))
        if len(made) == 1 and ord(made) != c:
            delta = ord(made) - c
            step = 2 if rows and rows[-1][1] == c - 2 and rows[-1][2] == delta and rows[-1][3] in (0, 2) else 1
            if rows and rows[-1][2] == delta and rows[-1][1] == c - step and rows[-1][3] in (0, step):
                rows[-1][1], rows[-1][3] = c, step
            else:
                rows.append([c, c, delta, 0])
    return rows


def written(name, rows, kind="Range"):
    lines, line = [], " "
    for row in rows:
        cell = " {" + ", ".join(f"0x{value:x}" if i < 2 else str(value) for i, value in enumerate(row)) + "},"
        if len(line) + len(cell) > 100:
            lines.append(line)
            line = " "
        line += cell
    return f"constexpr {kind} {name}[] = {{\n" + "\n".join(lines + [line]) + "\n};\n"


def main():
    parts = [
        "// Written by scripts/make_unicode_tables.py; not to be edited.\n",
        written("kControl", ranges(removed_by(bert(clean_text=True)))),
        written("kPunctuation", ranges(c for c in POINTS if pieces_of(f"a{chr(c)}b") == 3)),
        written("kNonspacingMark", ranges(
            c for c in POINTS if bert(strip_accents=True).normalize_str(chr(c)) == "")),
        written("kCombiningMark", ranges(removed_by(normalizers.StripAccents()))),
        written("kLetter", ranges(matched_by(r"\p{L}"))),
        written("kNumber", ranges(matched_by(r"\p{N}"))),
        written("kWord", ranges(matched_by(r"\w"))),
        written("kInert", ranges(inert())),
        "// First, last, distance to the lower-case letter, and the step within the range (0: one code point).\n",
        written("kLower", lowered(), "LowerRange"),
    ]
    TARGET.write_text("\n".join(parts))


if __name__ == "__main__":
    main()
