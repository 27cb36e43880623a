"""Rules of play: board kernel (`_board`), rule names (`rule`), coordinates and symmetries (`geometry`)."""
