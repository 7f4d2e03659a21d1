// split.hpp: loops whose iterations are shared out, where there are few tasks: decode attention, the sum of a long row.
//
// A kernel with such loops is a sequence of stages, numbered from 0. Even ones are a share of the iterations of a loop
// (stage 0 with what comes before the first loop) and run once for each part of each task; odd ones unite what the parts
// have left and do what comes after the loop, once for each task.
//
// parts(tasks, trips, work, least, pieces)
//     in how many parts the iterations of each task go: such that there are `pieces` parts of all tasks, or less where a
//     part would have less than `least` of the `work` of all, or no iteration. The number of threads has no say, so that
//     results do not depend on it.
// Piece<T>
//     what one call computes: the `part` of `parts` of a `task`, the stages that runs() says, the share [begin, end) of a
//     loop's iterations. `memory` is scratch; `kept` stays from one stage to the next, `room` elements for each part;
//     `shared` is one for all parts of a task. other(p) is what part p has kept; spread() gives what part 0 has kept to the
//     others.
// in_pieces<T>(tasks, parts, stages, threads, room, kept, shared, f)
//     f(Piece) for all stages one after the other; for all stages at once, without any memory but scratch, if parts == 1.
//     Returns a Status.
#pragma once
#include <algorithm>
#include "parallel.hpp"
#include "scratch.hpp"

namespace bb {
inline idx parts(idx tasks, idx trips, idx work, idx least, idx pieces) {
  if (tasks >= pieces) return 1;
  return std::max<idx>(1, std::min({ceil_div(pieces, tasks), trips, work / tasks / least}));
}

template <class T>
struct Piece {
  idx task, part, parts;
  int stage;  // -1: all
  T *memory, *kept, *shared;
  idx room;

  bool runs(int number) const { return stage < 0 || stage == number; }
  // The first share is never empty: what all iterations leave alike is taken from it.
  idx begin(idx trips) const { return ceil_div(part * trips, parts); }
  idx end(idx trips) const { return ceil_div((part + 1) * trips, parts); }
  T* other(idx number) const { return kept + number * room; }
  void spread() const {
    for (idx number = 1; number < parts; number++) std::copy_n(kept, room, other(number));
  }
};

template <class T, class F>
inline int in_pieces(idx tasks, idx parts, int stages, int threads, idx room, idx kept, idx shared, F&& f) {
  constexpr idx line = 64 / sizeof(T);
  kept = round_up(kept, line);
  shared = round_up(shared, line);
  const idx own = shared + parts * kept;
  T* held = nullptr;
  if (parts > 1) {
    if (!(held = scratch<T>(tasks * own, 1))) return out_of_memory;
  } else {
    stages = 1;
  }
  int status = ok;
  for (int number = 0; number < stages && !status; number++) {
    const int stage = parts > 1 ? number : -1;
    const bool apart = parts > 1 && number % 2 == 0;
    status = parallel_for(apart ? tasks * parts : tasks, threads, [&](idx each, int) -> int {
      T* const memory = scratch<T>(held ? room : room + own);
      if (!memory) return out_of_memory;
      const idx task = apart ? each / parts : each, part = apart ? each % parts : 0;
      T* const base = held ? held + task * own : memory + room;
      return f(Piece<T>{task, part, parts, stage, memory, base + shared + part * kept, base, kept});
    });
  }
  return status;
}
}  // namespace bb
