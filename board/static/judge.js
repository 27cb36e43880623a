// How good a move is, asked as it is played: for dots on stones and for games that teach.

const TURN_MS = 150; // for a position; a move needs two
const FAIR = 0.03; // of a point that a move may give away and be good
const BEHIND = 2; // moves that are judged at once: a person's, and the answer before it

// Moves that were played a moment ago and nobody has judged, oldest first.
function waiting(game) {
  const found = [];
  for (let node = game.current; node.fresh && node.ply > game.opening && found.length < BEHIND; node = node.parent) {
    if (node.judged) break;
    found.unshift(node);
  }
  return game.current.judged ? [] : found;
}

// The request that judges what was played last; null where there is nothing to judge. `hear` takes its answers.
export function judgeJob(game, hear) {
  const nodes = waiting(game);
  if (!nodes.length) return null;
  const fields = { game: game.moves(), opening: nodes[0].ply - 1, turn_ms: TURN_MS };
  return {
    key: JSON.stringify(["judge", fields]), type: "review", fields,
    hear: (message) => {
      const node = message.type === "judged" && nodes.find((one) => one.ply === message.ply + 1);
      if (node) {
        const { before, after, fall, mark, best } = message;
        node.judged = { before, after, fall, mark, best };
      } else if (message.type !== "judged") {
        for (const one of nodes) one.fresh = false; // done, or it cannot be done
        hear(message);
      }
    },
  };
}

export function quality({ mark, fall }) {
  if (mark) return mark === "??" ? "blunder" : "mistake";
  return fall < FAIR ? "good" : "fair";
}

// Dots for all judged moves before and at a node, by point.
export function dots(node) {
  const found = {};
  for (let at = node; at.parent; at = at.parent) if (at.judged && at.point >= 0) found[at.point] = quality(at.judged);
  return found;
}
