"""Analysis and review on the page, in a real browser, with the net that ships."""

from __future__ import annotations

import time
from pathlib import Path

from board.messages import Moves
from board.position import game_of
from engine.games.files import read_tree
from engine.rules.geometry import parse_moves
from tests.board.running import Page, until
from tests.helpers.board import drop

WON = "h8 a1 i8 b1 j8 a3"
"""Black's open three with the move: a forced win."""
LOST = "h8 a1 h9 c1 i10 e1 h10"
"""White, to move, has lost."""
OPEN_THREE = "h8 a1 i8 b1 j8"
"""The same with white to move, who has to defend."""
BLUNDER = "h8 i9 i7 g9 h9 h7 g8 i10 j8 i8 k8 a1 g7"
"""A game in which 12. a1 does not stop a four that can be made."""


def enter(page: Page, moves: str) -> None:
    """Put a row of moves on the board as pasted text."""
    page.js("const m = arguments[0]; import('/files.js').then(f => f.openText(tengen, m, 'text'))", moves)
    page.wait(f"tengen.game.current.ply === {len(moves.split())} && tengen.game.current.facts")


def analyse(page: Page) -> None:
    page.js("if (!tengen.settings.analyse) document.getElementById('analyse').click()")


def test_an_analysis_is_shown_at_once_and_grows(thinking_page: Page) -> None:
    page = thinking_page
    enter(page, "h8 i9 g9")
    analyse(page)
    first = page.wait("tengen.analysis.found && tengen.analysis.found.visits")
    page.wait(f"tengen.analysis.found.visits > {first} + 100")
    assert page.get("document.querySelectorAll('.disc').length") >= 3
    assert page.get("document.querySelectorAll('.disc.best').length") == 1
    assert "simulations" in page.get("document.getElementById('analysis-numbers').textContent")
    shares = page.get(
        "['black', 'draw', 'white'].map(n => Number(document.getElementById('bar-' + n).style.flexGrow))"
    )
    assert abs(sum(shares) - 1) < 0.01
    rows = page.get("[...document.querySelectorAll('#lines tr:not([hidden]) .name')].map(e => e.textContent)")
    assert len(rows) >= 3
    page.js("document.querySelector('#lines tr').dispatchEvent(new MouseEvent('mouseenter'))")
    page.wait("document.querySelectorAll('.ghost').length >= 2")
    for show in ("visits", "heat", "off", "chances"):
        page.key("v")
        page.wait(f"tengen.settings.show === '{show}'")


def test_a_proven_win_is_said_shown_and_kept(thinking_page: Page) -> None:
    page = thinking_page
    enter(page, WON)
    analyse(page)
    page.wait("document.querySelector('#word .proof')?.textContent.startsWith('Black wins in')")
    page.js("document.querySelectorAll('#word .proof button')[0].click()")
    page.wait("document.querySelectorAll('.ghost').length >= 2")
    page.js("document.querySelectorAll('#word .proof button')[1].click()")
    page.wait("tengen.game.current.children.length === 1")
    line = page.get("tengen.game.line().length - 1")
    assert line - 6 == page.get("tengen.analysis.found.distance")
    page.key("a")


def test_what_the_opponent_threatens_and_what_defends(thinking_page: Page) -> None:
    page = thinking_page
    enter(page, OPEN_THREE)
    analyse(page)
    page.wait("document.querySelector('#word .threat')")
    text = page.get("document.querySelector('#word .threat').textContent")
    assert text.startswith("Black threatens to win by fours in 3 with")
    assert page.get("document.querySelectorAll('.defence').length") >= 2
    page.key("a")


def test_a_page_that_nobody_sees_stops_its_analysis(thinking_page: Page) -> None:
    page = thinking_page
    enter(page, "h8 i9")
    analyse(page)
    page.wait("tengen.analysis.found")
    page.js(
        "Object.defineProperty(document, 'hidden', {value: true, configurable: true});"
        "document.dispatchEvent(new Event('visibilitychange'))"
    )
    page.wait("tengen.engine.job === null")
    visits = page.get("tengen.analysis.found.visits")
    page.place("a1")  # facts come, no analysis
    page.wait("tengen.game.current.facts")
    assert page.get("tengen.analysis.found.visits") == visits
    page.js("delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))")
    page.wait("tengen.analysis.node === tengen.game.current && tengen.analysis.found")
    page.key("a")


def test_a_hint(thinking_page: Page) -> None:
    page = thinking_page
    enter(page, WON)
    page.click("do-hint")
    page.wait("document.getElementById('status').textContent.startsWith('Hint: ')")
    assert page.get("document.querySelectorAll('.better').length") == 1


def test_a_review_finds_the_planted_blunder(thinking_page: Page) -> None:
    page = thinking_page
    enter(page, BLUNDER)
    page.js(
        "document.getElementById('review-ms').value = '100';"
        "document.getElementById('review-ms').dispatchEvent(new Event('change'))"
    )
    page.click("review-start")
    page.wait("!tengen.review.running && tengen.review.worst.length")
    worst = page.get("tengen.review.worst.map(n => [n.ply, n.judged.mark])")
    assert [12, "??"] in worst
    text = page.get("document.getElementById('worst').innerText")
    assert "12. a1" in text and "better" in text
    assert page.get("document.querySelectorAll('.dot').length") >= 1
    assert page.get("document.querySelectorAll('.move.blunder').length") >= 1
    page.js(
        "window.first = tengen.review.worst[0];"
        "tengen.review.worst[0] = new first.constructor(0, first.parent); tengen.changed()"
    )
    rows = page.get("document.querySelectorAll('#worst .row').length")
    assert rows == len(worst) - 1, "it is not in the game"
    page.js("tengen.review.worst[0] = first; tengen.changed()")
    page.js("document.querySelector('#worst .worst:last-child .row').click()")
    page.wait("tengen.game.current.ply === 12")
    assert page.get("document.querySelectorAll('.badge.blunder').length") == 1
    better = page.get(
        "tengen.view.x(tengen.game.current.judged.best)"
        " - Number(document.querySelector('.better').getAttribute('cx'))"
    )
    assert better == 0 and page.get("document.querySelectorAll('.chances .stone.ghost.white').length") == 1
    page.key("\ue012")  # left
    page.wait("document.querySelectorAll('.better').length === 1")
    box = page.get(
        "(b => [b.left, b.top, b.width, b.height])(document.querySelector('.curve').getBoundingClientRect())"
    )
    page.js(
        "document.querySelector('.curve').dispatchEvent(new MouseEvent('click',"
        "{clientX: arguments[0][0] + arguments[0][2] / 2, clientY: arguments[0][1] + 20, bubbles: true}))",
        box,
    )  # fmt: skip
    assert 5 <= page.get("tengen.game.current.ply") <= 8


def saved(downloads: Path, kind: str) -> str:
    """Wait for a saved file, take it away and return its text."""
    until(lambda: any(downloads.glob(f"*.{kind}")), f"a .{kind} file")
    path = next(downloads.glob(f"*.{kind}"))
    text = path.read_text()
    path.unlink()
    return text


def test_save_reload_and_open_with_variations_and_comments(page: Page, downloads: Path) -> None:
    page.new(rule=4)
    for move in ["h8", "i9", "j10"]:
        page.place(move)
    page.key("\ue012\ue012")
    page.place("i7")
    page.js(
        "const c = document.getElementById('comment'); c.value = 'a [quiet] move\\nof white';"
        "c.dispatchEvent(new Event('input'))"
    )
    page.click("do-save")
    page.click("save-sgf")
    text = saved(downloads, "sgf")
    tree = read_tree(text, 0)
    assert tree.record.rule == 4 and [n.point for n in tree.nodes[1:]] == [112, 128, 144, 98]
    assert tree.nodes[4].comment == "a [quiet] move\nof white"
    page.click("do-save")
    page.click("save-psq")
    assert saved(downloads, "psq").startswith("Piskvorky 15x15")
    page.open(fresh=False)
    assert page.stones == [112, 98]
    assert page.get("document.getElementById('comment').value") == "a [quiet] move\nof white"
    page.new()
    drop(page, "kept.sgf", text)
    page.wait("tengen.game.root.children.length === 1 && tengen.game.rule === 4 && tengen.game.current.facts")
    assert page.get("tengen.game.root.children[0].children.length") == 2


def test_a_damaged_file_is_refused_and_the_game_stays(page: Page) -> None:
    page.new()
    page.place("h8")
    for content in (
        b"",
        b"\x00\xff" * 50,
        b"(;GM[4]SZ[15];B[hh];W[hh])",
        b"Piskvorky 15x15, 11:11, 0\n99,1,0\n",
        b"(;GM[4]SZ[15];B[hh]",
        b"(;GM[2]SZ[8];B[aa])",
    ):
        drop(page, "bad.sgf", content)
        page.wait("document.getElementById('notices').innerText.includes('Your game is unchanged')")
        page.js("document.querySelector('.notice .close').click()")
    drop(page, "huge.sgf", b" " * (2 << 20))
    page.wait("document.getElementById('notices').innerText.includes('too large')")
    assert page.stones == [112]


def test_updates_a_second(thinking_page: Page) -> None:
    page = thinking_page
    enter(page, "h8 i9 g9")
    page.js(
        "window.seen = 0; const take = tengen.analysis.take;"
        "tengen.analysis.take = function (...a) { window.seen++; return take.apply(this, a); }"
    )
    analyse(page)
    page.wait("window.seen >= 1")
    began_s = time.monotonic()
    page.wait("window.seen >= 11")
    rate = 10 / (time.monotonic() - began_s)
    print(f"{rate:.1f} updates a second")
    assert rate > 1, "on any machine; the figure of an idle one is in docs/board.md"
    page.key("a")


def test_a_proven_loss_is_red_and_its_line_is_shown_and_kept(thinking_page: Page) -> None:
    page = thinking_page
    enter(page, LOST)
    analyse(page)
    page.wait("document.querySelector('#word .proof')?.textContent.startsWith('Black wins in')")
    assert page.get("tengen.analysis.found.to_move") == 1
    page.wait("tengen.analysis.found.done")
    line = page.get("tengen.analysis.found.pv")
    game = game_of(Moves(15, 15, 0, (*parse_moves(LOST, 15, 15), *line)))
    assert game.over, f"{line} ends with the five after {page.get('tengen.analysis.found.distance')} moves"
    lost = page.get("[...document.querySelectorAll('.disc circle')].map(e => e.getAttribute('fill'))")
    assert lost and all(fill.startswith("hsl(7 ") for fill in lost)
    page.js("document.querySelectorAll('#word .proof button')[0].click()")
    page.wait("document.querySelectorAll('.ghost').length >= 3")
    page.js("document.querySelectorAll('#word .proof button')[1].click()")
    page.wait("tengen.game.line().length - 1 === 7 + tengen.analysis.found.pv.length")
    page.key("a")


def test_the_only_move_of_a_lost_position_is_red_too(page: Page) -> None:
    page.new()
    page.js(
        "const move = {point: 5, visits: 1, prior: 1, score: 0.31, proven: null, distance: null, pv: [5]};"
        "const found = {type: 'analysis', to_move: 0, wdl: [0, 0, 1], proven: 1, distance: 10, pv: [5]};"
        "const counts = {visits: 1, simulations: 1, speed: 0, depth: 0, depth_max: 0};"
        "tengen.analysis.take({...found, ...counts, moves: [move]}, tengen.game.current);"
        "tengen.settings.analyse = true; tengen.job = () => null; tengen.draw()"
    )
    assert page.get("document.querySelector('.disc circle').getAttribute('fill')").startswith("hsl(7 ")
    assert page.get("document.querySelector('#line-rows .score').textContent") == "loses 10"


def test_colours_of_moves_follow_their_value(page: Page) -> None:
    """Green for a win, red for a loss, whatever the best move is worth."""
    moves = [
        ({"score": 0.0, "proven": 0}, 0.0, 1, 7), ({"score": 1.0, "proven": 1}, 1.0, 1, 152),
        ({"score": 0.5, "proven": 2}, 0.5, 1, 80), ({"score": 0.01, "proven": None}, 0.01, 1, 10),
        ({"score": 0.6, "proven": None}, 0.6, 0, 152), ({"score": 0.6, "proven": None}, 0.9, 0, 7),
    ]  # fmt: skip
    for move, best, to_move, hue in moves:
        found = page.driver.execute_async_script(
            "const [m, b, t, done] = arguments; import('/overlay.js').then(o => done(o.hue(m, b, t)))",
            move, best, to_move,
        )  # fmt: skip
        assert abs(found - hue) <= 2, (move, found)


def test_the_bar_shows_what_is_known_without_an_analysis(page: Page) -> None:
    page.new()
    for move in ["h8", "i9", "j10"]:
        page.place(move)
    bar = "document.getElementById('bar').getAttribute('aria-label')"
    assert page.get(bar) == "Chances unknown"
    page.js(
        "const [, first, second] = tengen.game.line();"
        "first.judged = {before: 0.5, after: 0.62, fall: 0, mark: '', best: 112};"
        "second.chances = 0.7; tengen.actions.back(); tengen.actions.back()"
    )
    for key, chances in (("", "62"), ("\ue014", "70"), ("\ue011", "50")):  # forward, to the start
        page.key(key or "n")
        assert page.get(bar).startswith(f"Black's chances {chances} %")
        assert page.get("!document.getElementById('bar').classList.contains('unknown')")
    page.js("tengen.actions.last(); tengen.game.ended = {winner: 1, text: 'White wins.'}; tengen.changed()")
    assert "white wins 100 %" in page.get(bar)


def test_names_of_an_opened_game_are_shown(page: Page) -> None:
    drop(page, "named.sgf", "(;FF[4]GM[4]SZ[15]PB[Ada Lovelace]PW[black];B[hh];W[ih])")
    page.wait("tengen.game.current.ply === 2 && tengen.game.current.facts")
    names = "[...document.querySelectorAll('.player strong')].map(e => e.textContent)"
    assert page.get(names) == ["Ada Lovelace", "White"]
    page.js("tengen.table.seats[1] = 'engine'; tengen.seated()")
    assert page.get(names)[0] == "Ada Lovelace" and page.get(names)[1].startswith("Tengen")
    assert page.get("tengen.game.names[0]") == "Ada Lovelace"


def test_the_end_of_a_game_that_somebody_resigned_is_kept(page: Page, downloads: Path) -> None:
    drop(page, "resigned.sgf", "(;FF[4]GM[4]SZ[15]RE[W+R];B[hh];W[ih];B[jj])")
    page.wait("tengen.game.current.ply === 3 && tengen.game.current.facts")
    assert page.status == "Black resigns: white wins."
    page.place("a1")
    assert len(page.stones) == 3
    page.click("do-save")
    page.click("save-sgf")
    assert "RE[W+R]" in saved(downloads, "sgf")
    page.key("\ue012")
    page.place("a1")  # another line may begin before the end
    assert len(page.stones) == 3 and "resigns" not in page.status


def test_a_game_of_another_program_opens_with_its_names_and_passes(page: Page) -> None:
    """Big5 without CA, the number of Go, a position that is set up, white to move, a pass."""
    game = "mail\n(;GM[1]SZ[15]PB[許功蓋]PW[王小明]AB[hh][ii]AW[gg]PL[W];W[jj]C[功];B[];W[kk])"
    drop(page, "foreign.sgf", game.encode("big5"))
    page.wait("tengen.game.current.ply === 6 && tengen.game.current.facts")
    assert page.get("tengen.game.names") == ["許功蓋", "王小明"]
    assert page.get("tengen.game.path()") == [112, 96, 128, 144, -1, 160]
    told = page.get("document.getElementById('notices').innerText")
    assert "read as Big5, a guess." in told and "Text outside the game is left out: 'mail'." in told
    stones = page.get("[...document.querySelectorAll('.stones > *')].length")
    assert stones == 5
    assert "pass" in page.get("document.getElementById('moves').innerText")
    page.key("\ue012")
    page.wait("tengen.game.current.point === -1 && tengen.game.current.facts?.to_move === 1")


def test_balanced_moves_are_found_and_marked(thinking_page: Page) -> None:
    page = thinking_page
    enter(page, "h8 i9")
    page.js("document.getElementById('do-balance-1').click()")
    page.wait("document.getElementById('status').textContent.startsWith('Balanced: ')")
    assert page.get("document.querySelectorAll('.better').length") == 1
    assert page.get("tengen.hint.point") not in page.stones
    page.js("document.getElementById('do-balance-2').click()")
    page.wait("document.querySelectorAll('.better').length === 2")
    found = page.get("tengen.hint.points")
    assert len(set(found)) == 2 and not set(found) & set(page.stones)
