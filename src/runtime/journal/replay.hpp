// SPDX-License-Identifier: Apache-2.0
// Replay: feeds a record (record.hpp) to the controllers of this binary and compares what they
// decide with what was decided then. A machine: lines in, runs out.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "kube/value/value.hpp"
#include "runtime/engine/engine.hpp"

namespace athanor::runtime {

// One decision (to_value of record.hpp), as it was recorded, as it is made now; one of them may be
// Null. Equal but for their ids: no difference.
struct Decision {
  Value recorded{};
  Value now{};
  [[nodiscard]] bool differs() const;
};

// The decisions of one run of a record beside those of this binary.
struct ReplayedRun {
  Instant at{};
  std::vector<Decision> decisions{};
};

// Feeds the lines of a record to the controllers of this binary. Not thread-safe.
class Replay {
 public:
  using Find = std::function<const Operator*(std::string_view name)>;
  // Opens a record. Errors: an invalid head; controllers that this binary does not have.
  static Result<std::unique_ptr<Replay>> open(const Value& head, const Find& find);
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;
  ~Replay();

  // Reads the next line; returns a run when it is one. Errors: an invalid line.
  Result<std::optional<ReplayedRun>> feed(const Value& line);
  // Inputs without a receiver: of kinds that are not watched any more, answers to what was not
  // asked this time.
  [[nodiscard]] std::uint64_t skipped() const { return skipped_; }

 private:
  Replay() = default;

  // Returns the input of a line; nullopt: to be skipped.
  Result<std::optional<Input>> input_of(std::string_view what, const Value& line) const;
  Result<std::optional<Input>> event_of(std::string_view what, const Value& line) const;
  [[nodiscard]] const Kind* kind_of(const Value& number) const;
  ReplayedRun run(const Value& recorded, Instant at);
  void note_ids(const Decision& decision);

  std::unique_ptr<Entropy> entropy_{};
  std::unique_ptr<Engine> engine_{};
  std::vector<const Kind*> kinds_{};  // by the record's numbers; nullptr: not watched any more
  std::map<std::uint64_t, std::uint64_t> writes_{};     // the record's ids and ours
  std::map<std::uint64_t, std::uint64_t> questions_{};  // likewise
  std::uint64_t skipped_ = 0;
};

}  // namespace athanor::runtime
