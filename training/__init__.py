"""Learning by self-play: the only part that knows torch.

The files here are the commands that a user types, each with `--help`, and the loop that `selfplay` runs; all
else lives in folders. Each line knows those below it and none above; what is on one line does not know
its neighbours:

    rounds      a round of games and of learning from their results: the commands below, one after another
    selfplay match report bundle ship balance endings levels survey         the commands
    loop        self-play, learning, export, measurement, promotion, again and again
    run/        a run's directory: state, log, live line, report, bundle, shipping its net
    workers/    processes that play: the pool of this machine, what all pools share, their speed
    learn/      the learner, its losses and checkpoints    measure/  arena, gate, matches, brains, ratings
    export/     torch net to ONNX files and a card         play/     games, root search, evaluators, openings
    net/        what a net is: tower, line stem, growing
    data/       game records, shards, journals, imports, the window that batches are drawn from
    settings/   every setting, and how settings are read
    files/      files that are there whole or not at all, locks

An import-linter contract in pyproject.toml holds this order.
"""
