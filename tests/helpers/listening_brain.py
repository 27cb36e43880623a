"""A brain that writes down every byte it is told and plays 0,0 then 1,0 ...: `listening_brain.py FILE`."""

import sys

moves, in_board = 0, False
with open(sys.argv[1], "wb", buffering=0) as heard:
    for line in sys.stdin.buffer:
        heard.write(line)
        word = line.decode().split()[0]
        in_board = (in_board or word == "BOARD") and word != "DONE"
        if word == "END":
            break
        if word == "START":
            print("OK", flush=True)
        elif word == "ABOUT":
            print('name="listener"', flush=True)
        elif word in ("BEGIN", "TURN", "DONE"):
            print(f"{moves},0", flush=True)
            moves += 1
