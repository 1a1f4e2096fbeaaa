// SPDX-License-Identifier: Apache-2.0
// athanor_sim: plays the scenes with many seeds and prints what was injected, checked and found.
//
//   athanor_sim [--seeds N] [--first N] [--scene NAME] [--threads N] [--stop] [--quick]
//   athanor_sim --exhaustive [--scene NAME] [--stride N] [--seed N]            every single fault
//   athanor_sim --scene NAME --seed N [--faults LIST] [--trace]                one seed, or exactly
//                                                         these faults; prints all writes
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "sim/scenes/scenes.hpp"

namespace athanor::sim {
namespace {

struct Options {
  std::uint64_t seeds = 200;
  std::uint64_t first = 1;
  std::optional<std::uint64_t> seed{};
  std::string scene{};
  std::optional<FaultList> faults{};
  std::uint64_t threads = 2;
  std::uint64_t stride = 0;
  bool exhaustive = false;
  bool stop = false;   // at the first failure
  bool quick = false;  // do not look for the fewest faults
  bool trace = false;  // print the writes of a failing seed
};

struct Failed {
  std::string scene{};
  std::uint64_t seed = 0;
  Finding finding{};
};

// What the threads share.
struct Board {
  std::mutex mutex{};
  Tally tally{};
  std::vector<Failed> failed{};
  std::atomic<std::uint64_t> next{0};
  std::atomic<std::uint64_t> done{0};
  std::atomic<bool> stopped{false};
};

void say(const std::string& text) {
  static_cast<void>(std::fputs(text.c_str(), stdout));
  static_cast<void>(std::fflush(stdout));
}

void progress(std::uint64_t done, std::uint64_t all, std::size_t failed) {
  if (::isatty(STDERR_FILENO) == 0 && done % std::max<std::uint64_t>(all / 10, 1) != 0) {
    return;
  }
  static_cast<void>(std::fprintf(
      stderr, "%s",
      fmt::format("{}sim: {} of {}, {} failed{}", ::isatty(STDERR_FILENO) != 0 ? "\r" : "", done,
                  all, failed, ::isatty(STDERR_FILENO) != 0 ? " " : "\n")
          .c_str()));
}

std::string replay_line(const Failed& failed) {
  return fmt::format(
      "build/release/tests/sim/athanor_sim --scene {} --seed {}{}", failed.scene, failed.seed,
      failed.finding.faults.empty() ? "" : " --faults " + to_text(failed.finding.faults));
}

// What went wrong, the command that shows it again, and the fewest faults that do.
void report(Failed& failed, const Options& options) {
  say(fmt::format("\nFAILED {} seed {}: {}\n", failed.scene, failed.seed, failed.finding.text));
  const Play* play = play_named(failed.scene);
  if (play != nullptr && failed.finding.faults.size() > 1 && !options.quick && !options.faults) {
    const std::size_t before = failed.finding.faults.size();
    failed.finding.faults = minimised(failed.finding.faults, [&](const FaultList& placed) {
      return check_seed(*play, failed.seed, nullptr, placed).has_value();
    });
    say(fmt::format("  minimised: {} of {} faults\n", failed.finding.faults.size(), before));
  }
  if (options.trace) {
    for (const std::string& line : failed.finding.trace) {
      say("  " + line + "\n");
    }
  }
  say("  replay: " + replay_line(failed) + "\n");
}

template <class Body>
void on_threads(std::uint64_t count, const Body& body) {
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < count; ++i) {
    threads.emplace_back(body);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

std::vector<const Play*> chosen(const Options& options) {
  std::vector<const Play*> all;
  for (const Play& play : plays()) {
    if (options.scene.empty() || options.scene == play.name) {
      all.push_back(&play);
    }
  }
  return all;
}

void enter(Board& board, const Play& play, std::uint64_t seed, const Tally& tally,
           std::optional<Finding> finding) {
  const std::lock_guard lock(board.mutex);
  board.tally.merge(tally);
  if (finding) {
    board.failed.push_back({.scene = play.name, .seed = seed, .finding = *std::move(finding)});
  }
}

void play_seeds(const Options& options, Board& board) {
  const std::vector<const Play*> all = chosen(options);
  on_threads(options.threads, [&] {
    for (std::uint64_t i = board.next++; i < options.seeds && !board.stopped; i = board.next++) {
      const std::uint64_t seed = options.first + i;
      const Play& play = *all[seed % all.size()];
      Tally tally;
      const auto finding = check_seed(play, seed, &tally);
      enter(board, play, seed, tally, finding);
      board.stopped = board.stopped || (finding && options.stop);
      progress(++board.done, options.seeds, board.failed.size());
    }
  });
}

// Every single fault: work is shared by slices of the chances.
void play_singles(const Options& options, Board& board) {
  const std::vector<const Play*> all = chosen(options);
  constexpr std::uint64_t kSlices = 8;
  on_threads(options.threads, [&] {
    for (std::uint64_t i = board.next++; i < all.size() * kSlices; i = board.next++) {
      const Play& play = *all[i / kSlices];
      const std::uint64_t stride = options.stride > 0 ? options.stride : play.stride;
      const std::uint64_t seed = options.seed.value_or(1);
      Tally tally;
      Comparison comparison(
          {.make = play.make, .seed = seed, .projection = play.projection, .tally = &tally},
          play.storm);
      Placement placement{.first = 1 + i % kSlices * stride, .stride = stride * kSlices};
      const Comparison& storms = comparison;
      std::copy_if(all_faults().begin(), all_faults().end(), std::back_inserter(placement.kinds),
                   [&](Fault kind) { return kind != Fault::OldCache && storms.allows(kind); });
      const auto finding = check_singles(comparison, placement, &tally, play.storm.old_replica);
      enter(board, play, seed, tally, finding);
      progress(++board.done, all.size() * kSlices, board.failed.size());
    }
  });
}

// One seed, or one list of faults.
void play_one(const Options& options, Board& board) {
  for (const Play* play : chosen(options)) {
    const std::uint64_t seed = options.seed.value_or(1);
    Tally tally;
    auto finding = check_seed(*play, seed, &tally, options.faults, options.trace);
    enter(board, *play, seed, tally, std::move(finding));
    ++board.done;
  }
}

void print_table(const Board& board, double seconds) {
  const Tally& tally = board.tally;
  std::string out = "\nfaults injected\n";
  std::uint64_t faults = 0;
  for (const Fault kind : all_faults()) {
    const std::uint64_t count = tally.faults.at(static_cast<std::size_t>(kind));
    faults += count;
    out += fmt::format("  {:<44}{:>12}\n", name_of(kind), count);
  }
  out += fmt::format("  {:<44}{:>12}\ninvariants checked\n", "all", faults);
  for (const auto& [name, checks] : tally.invariants) {
    out += fmt::format("  {:<44}{:>12}\n", name, checks);
  }
  out += "properties checked\n";
  for (const auto& [name, checks] : tally.properties) {
    out += fmt::format("  {:<44}{:>12}\n", name, checks);
  }
  out += fmt::format(
      "\nworlds played {}, simulator steps {}, reconciles {} (each made twice), writes {}\n"
      "{:.1f} s, {:.0f} steps/s\nseeds run {}, seeds failed {}\n",
      tally.runs, tally.steps, tally.reconciles, tally.writes, seconds,
      static_cast<double>(tally.steps) / seconds, board.done.load(), board.failed.size());
  say(out);
}

std::optional<Options> parse(const std::vector<std::string>& arguments) {
  Options options;
  const auto number = [](const std::string& text) {
    return std::strtoull(text.c_str(), nullptr, 10);
  };
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& flag = arguments[i];
    if (flag == "--exhaustive") {
      options.exhaustive = true;
      continue;
    }
    if (flag == "--stop") {
      options.stop = true;
      continue;
    }
    if (flag == "--trace") {
      options.trace = true;
      continue;
    }
    if (flag == "--quick") {
      options.quick = true;
      continue;
    }
    if (i + 1 == arguments.size()) {
      return std::nullopt;
    }
    const std::string& value = arguments[++i];
    if (flag == "--seeds") {
      options.seeds = number(value);
    } else if (flag == "--first") {
      options.first = number(value);
    } else if (flag == "--seed") {
      options.seed = number(value);
    } else if (flag == "--scene") {
      options.scene = value;
    } else if (flag == "--threads") {
      options.threads = number(value);
    } else if (flag == "--stride") {
      options.stride = number(value);
    } else if (flag == "--faults") {
      auto faults = parse_faults(value);
      if (!faults.ok()) {
        say("athanor_sim: " + faults.error().message + "\n");
        return std::nullopt;
      }
      options.faults = *std::move(faults);
    } else {
      return std::nullopt;
    }
  }
  if (!options.scene.empty() && play_named(options.scene) == nullptr) {
    say("athanor_sim: no scene is called " + options.scene + "; there are");
    for (const Play& play : plays()) {
      say(" " + play.name);
    }
    say("\n");
    return std::nullopt;
  }
  return options;
}

int run(const std::vector<std::string>& arguments) {
  const auto options = parse(arguments);
  if (!options) {
    say("usage: athanor_sim [--seeds N] [--first N] [--scene NAME] [--threads N] [--stop] "
        "[--quick]\n"
        "       athanor_sim --exhaustive [--scene NAME] [--stride N] [--seed N]\n"
        "       athanor_sim --scene NAME --seed N [--faults LIST] [--trace]\n");
    return 2;
  }
  Board board;
  const auto start = std::chrono::steady_clock::now();
  if (options->exhaustive) {
    play_singles(*options, board);
  } else if (options->seed) {
    play_one(*options, board);
  } else {
    play_seeds(*options, board);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  for (Failed& failed : board.failed) {
    report(failed, *options);
  }
  print_table(board, took.count());
  return board.failed.empty() ? 0 : 1;
}

}  // namespace
}  // namespace athanor::sim

int main(int argc, char** argv) {
  try {
    return athanor::sim::run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& error) {
    static_cast<void>(std::fprintf(stderr, "athanor_sim: %s\n", error.what()));
    return 1;
  }
}
