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
// Rooms
//     how many elements each kind of memory needs: `room` and `shared` for what is local to a worker; `kept` for what a part
//     keeps from one stage to the next; `lists` of each worker and `common` of each task in global memory. `shared` and
//     `common` are one for all parts of a task.
// Piece<T>
//     what one call computes: the `part` of `parts` of a `task`, the stages that runs() says, the share [begin, end) of a
//     loop's iterations, and where its memory is. other(p) is what part p has kept; spread() gives what part 0 has kept to
//     the others.
// in_pieces<T>(tasks, parts, stages, threads, rooms, f)
//     f(Piece) for all stages one after the other; for all stages at once if parts == 1, with scratch memory alone. What is
//     in global memory is allocated here; if it is much, it goes back at the end. Returns a Status.
#pragma once
#include <algorithm>
#include "parallel.hpp"
#include "scratch.hpp"

namespace bb {
inline idx parts(idx tasks, idx trips, idx work, idx least, idx pieces) {
  if (tasks >= pieces) return 1;
  return std::max<idx>(1, std::min({ceil_div(pieces, tasks), trips, work / tasks / least}));
}

// Bytes of global memory that a thread keeps for the next call: new pages cost as much as a pass over them.
inline constexpr idx most_kept = idx(1) << 26;

struct Rooms {
  idx room, kept, shared, lists, common;
};

template <class T>
struct Piece {
  idx task, part, parts;
  int stage;  // -1: all
  T *memory, *kept, *shared, *lists, *common;
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
inline int in_pieces(idx tasks, idx parts, int stages, int threads, const Rooms& rooms, F&& f) {
  constexpr idx line = 64 / sizeof(T);
  const idx kept = round_up(rooms.kept, line), shared = round_up(rooms.shared, line);
  const idx own = shared + parts * kept;
  const idx lists = round_up(rooms.lists, line), common = round_up(rooms.common, line);
  const bool apart = parts > 1;
  const idx workers = std::max<idx>(1, std::min<idx>(threads, tasks * parts));
  const idx held_size = apart ? tasks * own : 0;
  const idx far_size = workers * lists + (apart ? tasks : workers) * common;
  const bool stays = far_size <= most_kept / idx(sizeof(T));
  T *held = nullptr, *far = nullptr;
  detail::Arena global;
  if (const idx size = held_size + (stays ? far_size : 0))
    if (!(held = scratch<T>(size, 1))) return out_of_memory;
  if (far_size) far = stays ? held + held_size : (T*)global.take(far_size * sizeof(T));
  if (far_size && !far) return out_of_memory;
  if (!apart) stages = 1;
  int status = ok;
  for (int number = 0; number < stages && !status; number++) {
    const int stage = apart ? number : -1;
    const bool each = apart && number % 2 == 0;
    status = parallel_for(each ? tasks * parts : tasks, threads, [&](idx index, int worker) -> int {
      T* const memory = scratch<T>(apart ? rooms.room : rooms.room + own);
      if (!memory) return out_of_memory;
      // The same part of all tasks, then the next: heads that share keys read them at about the same time.
      const idx task = each ? index % tasks : index, part = each ? index / tasks : 0;
      T* const base = apart ? held + task * own : memory + rooms.room;
      T* const distant = far ? far + workers * lists + (apart ? task : worker) * common : nullptr;
      return f(Piece<T>{task, part, parts, stage, memory, base + shared + part * kept, base,
                        far ? far + worker * lists : nullptr, distant, kept});
    });
  }
  return status;
}
}  // namespace bb
