"""Games in the encodings of many countries."""

import codecs
import sys

import pytest

from engine.commands.charset import CODECS, detect, detector
from engine.errors import PositionError
from engine.games.decode import NO_DETECTOR, codec_named, decode
from engine.games.files import load_tree, read_tree
from engine.rules.geometry import format_moves

CHINESE = ("张三丰", "李四", "黑棋这步不好,应该先冲四再做活三。")
TAIWAN = ("許功蓋", "王小明", "黑棋這一步不好,應該先衝四再做活三。功")
JAPANESE = ("山口 太郎", "白石 ソ表", "この手は悪手です。先に四を打つべきです。ソ表能")
KOREAN = ("김철수", "이영희", "이 수는 나쁜 수입니다. 먼저 사를 두어야 합니다.")
RUSSIAN = ("Иванов Пётр", "Сидорова Анна", "Здесь чёрные ошиблись, надо было закрыть тройку.")
CZECH = ("Šárka Nováková", "Jiří Dvořák", "Tady měl bílý blokovat čtyřku, pak už je pozdě. Žluťoučký kůň")
GERMAN = ("Jörg Müller", "Åke Öberg", "Weiß hätte die Vier schließen müssen, für später zu spät.")

WRITTEN = [
    ("gbk", "GBK", CHINESE), ("gbk", "GB2312", CHINESE), ("gb18030", "GB18030", CHINESE),
    ("big5", "Big5", TAIWAN), ("cp950", "windows-950", TAIWAN), ("cp932", "Shift_JIS", JAPANESE),
    ("cp932", "x-sjis", JAPANESE), ("euc_jp", "EUC-JP", JAPANESE), ("cp949", "EUC-KR", KOREAN),
    ("cp949", "ks_c_5601-1987", KOREAN), ("koi8_r", "KOI8-R", RUSSIAN), ("cp1251", "windows-1251", RUSSIAN),
    ("cp1250", "cp1250", CZECH), ("iso8859_2", "ISO-8859-2", CZECH), ("cp1252", "ISO-8859-1", GERMAN),
    ("utf-8", "UTF-8", TAIWAN), ("utf-8", "utf8", RUSSIAN), ("iso2022_jp", "ISO-2022-JP", JAPANESE),
]  # fmt: skip

CERTAIN = ("utf-8", "iso2022_jp", "iso8859_2")  # the last is like cp1250 but for a few letters


def sgf(names, label=""):
    black, white, comment = (text.replace("\\", "\\\\").replace("]", "\\]") for text in names)
    said = f"CA[{label}]" if label else ""
    return (
        f"(;FF[4]GM[4]SZ[15]{said}PB[{black}]PW[{white}]C[{comment}]\n;B[hh]C[{black}];W[ii]C[{white}]"
        f"(;B[gg]C[{comment}];W[jj])(;B[jj];W[gg]C[{black}]))\n"
    )


def told(tree):
    record = tree.record
    comments = [node.comment for node in tree.nodes]
    return (*record.names, comments[0]), comments


@pytest.mark.parametrize(("codec", "label", "names"), WRITTEN, ids=[f"{c}-{n}" for c, n, _ in WRITTEN])
def test_what_the_file_names_is_exact(codec, label, names):
    tree = read_tree(sgf(names, label).encode(codec))
    black, white, comment = names
    assert told(tree) == (names, [comment, black, white, comment, "", "", black])
    assert format_moves(tree.record.points, 15) == "h8i9g7j10" and tree.record.notes == []


@pytest.mark.parametrize(
    ("codec", "names"),
    sorted(
        {(codec, names) for codec, _, names in WRITTEN if codec not in ("utf-8", "iso8859_2", "iso2022_jp")}
    ),
)
def test_without_a_name_moves_are_exact_and_names_a_guess(codec, names):
    tree = read_tree(sgf(names).encode(codec), detect=detect)
    assert format_moves(tree.record.points, 15) == "h8i9g7j10" and len(tree.nodes) == 7
    assert told(tree)[0] == names
    assert [note for note in tree.record.notes if "a guess" in note] == tree.record.notes != []


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("names", [CHINESE, TAIWAN, JAPANESE, KOREAN, RUSSIAN, CZECH, GERMAN])
def test_moves_are_exact_whatever_is_guessed(codec, names):
    """The guesser is made to prefer a wrong codec; brackets that it swallows give it away."""
    own = next(c for c, _, n in WRITTEN if n is names)
    short = (names[0], names[1], names[0])
    data = sgf(short).encode(own)
    tree = read_tree(data, detect=lambda data: [codec, own])
    assert format_moves(tree.record.points, 15) == "h8i9g7j10" and len(tree.nodes) == 7


@pytest.mark.parametrize(
    ("prefix", "codec"),
    [
        (b"", "utf-8"), (codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"), (b"", "utf-16-le"), (b"", "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("label", ["", "UTF-8", "GBK"])
def test_unicode_is_known_by_its_bytes(prefix, codec, label):
    if codec == "utf-8" and label == "GBK" and not prefix:
        label = ""
    tree = read_tree(prefix + sgf(TAIWAN, label).encode(codec))
    assert told(tree)[0] == TAIWAN and tree.record.notes == []
    psq = "Piskvorky 15x15, 11:11, 0\r\n8,8,0\r\n9,9,0\r\n許功蓋\r\nИван\r\n0\r\n"
    record = read_tree(prefix + psq.encode(codec)).record
    assert record.names == ("許功蓋", "Иван") and format_moves(record.points, 15) == "h8i9"


@pytest.mark.parametrize(
    ("codec", "names"), [("gbk", CHINESE), ("cp932", JAPANESE), ("koi8_r", RUSSIAN), ("cp1250", CZECH)]
)
def test_psq_and_pasted_moves_are_decoded_too(codec, names):
    psq = f"Piskvorky 15x15, 11:11, 0\n8,8,0\n9,9,0\n{names[0]} {names[2]}\n{names[1]}\n0\n"
    record = read_tree(psq.encode(codec), detect=detect).record
    assert record.names == (f"{names[0]} {names[2]}", names[1]) and "a guess" in record.notes[0]
    assert format_moves(read_tree("h8 ｉ９".encode("utf-16")).record.points, 15) == "h8i9"


@pytest.mark.parametrize(
    ("label", "codec", "note"),
    [
        ("UTF-8", "gbk", "the text is not UTF-8 (CA)"),
        ("klingon", "gbk", "the encoding klingon (CA) is unknown"),
        ("rot13", "gbk", "the encoding rot13 (CA) is unknown"),
    ],
)  # fmt: skip
def test_a_wrong_name_is_said_and_guessed_over(label, codec, note):
    tree = read_tree(sgf(CHINESE, label).encode(codec), detect=detect)
    assert told(tree)[0] == CHINESE
    assert tree.record.notes[0] == note and "Chinese (GBK), a guess" in tree.record.notes[1]


def test_utf8_under_another_name_is_seen():
    names = ("黑方棋手", "白方棋手", "好棋")  # as UTF-8 they are valid GBK, too
    tree = read_tree(sgf(names, "GBK").encode())
    assert told(tree)[0] == names and tree.record.notes == ["the text is not GBK (CA) but UTF-8"]
    short = sgf(("吴", "white", "x"), "GBK").encode()  # as GBK its first name takes the bracket behind it
    tree = read_tree(short)
    assert told(tree)[0] == ("吴", "white", "x")
    assert tree.record.notes == ["the text is not GBK (CA) but UTF-8"]
    few = ("联", "white", "x")  # valid UTF-8 by chance
    few_tree = read_tree(sgf(few, "GBK").encode("gbk"))
    assert few_tree.record.names[0] == "联" and few_tree.record.notes == []


def test_without_the_guesser_one_line_says_what_is_missing(tmp_path, monkeypatch):
    path = tmp_path / "game.sgf"
    path.write_bytes(sgf(CHINESE).encode("gbk"))
    with pytest.raises(PositionError) as refused:
        load_tree(path)
    assert str(refused.value) == f"{path}: {NO_DETECTOR}"
    monkeypatch.setitem(sys.modules, "charset_normalizer", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert detector() is None
    assert told(read_tree(sgf(CHINESE, "GBK").encode("gbk")))[0] == CHINESE


@pytest.mark.parametrize(
    "label", ["zip", "base64", "hex", "idna", "punycode", "unicode_escape", "undefined", "", "\x00"]
)
def test_codecs_that_are_no_text_are_not_used(label):
    assert codec_named(label) is None


def test_bytes_that_are_nothing_are_refused_in_one_line():
    for data in (bytes(range(256)) * 40, b"\xff" * 3000, b"(;\xff\xfe" * 900):
        with pytest.raises(PositionError) as refused:
            read_tree(data, detect=detect)
        assert "\n" not in str(refused.value)


def test_guessing_looks_at_a_bounded_sample():
    many = decode(sgf(tuple(text * 20_000 for text in CHINESE)).encode("gbk"), detect)
    assert many.encoding == "gb18030"
