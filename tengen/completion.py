"""Completion of `tengen` in bash and zsh: commands, the options that a command's help lists, else files."""

from __future__ import annotations

from collections.abc import Sequence

SHELLS = ("bash", "zsh")

_BASH = r"""_tengen() {
    local word="${COMP_WORDS[COMP_CWORD]}" command="${COMP_WORDS[1]}"
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "@COMMANDS@ --help --version" -- "$word"))
    elif [[ "$word" == -* ]]; then
        local options="$(tengen "$command" --help 2>/dev/null | grep -oE -- '--[a-z][a-z-]*' | sort -u)"
        COMPREPLY=($(compgen -W "$options" -- "$word"))
    else
        COMPREPLY=($(compgen -f -- "$word"))
    fi
}
complete -o filenames -F _tengen tengen"""


def script(shell: str, commands: Sequence[str]) -> str:
    """Return what a shell reads to complete `tengen`.

    Args:
        shell: one of `SHELLS`; zsh reads the functions of bash through its own `bashcompinit`.
        commands: the names to complete.
    """
    text = _BASH.replace("@COMMANDS@", " ".join(commands))
    return f"autoload -U +X bashcompinit && bashcompinit\n{text}" if shell == "zsh" else text
