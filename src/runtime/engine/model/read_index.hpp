// SPDX-License-Identifier: Apache-2.0
// ReadIndex: who read what, so that a change re-queues exactly its readers (docs/engine.md 2, rule
// 3).
#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text_hash.hpp"
#include "runtime/cache/cache.hpp"
#include "runtime/engine/model/task.hpp"
#include "runtime/view/operator.hpp"
#include "runtime/view/step.hpp"
#include "runtime/view/view.hpp"

namespace athanor::runtime {

// Not thread-safe: the engine owns it. A change costs O(log n) for each label, index value and
// reader it touches, and for each controller that overlooks it.
class ReadIndex {
 public:
  // Whether a change makes a difference to the keys of the controller with this number.
  using Wants = std::function<bool(std::size_t controller)>;

  explicit ReadIndex(std::vector<Index> declared) : declared_(std::move(declared)) {}

  // Replaces what `id`, a key of that controller, depends on.
  void set(TaskId id, Reads reads, std::size_t controller = 0);
  void remove(TaskId id);
  // Returns the last reads of `id`; nullptr: nothing known.
  [[nodiscard]] const Reads* of(TaskId id) const;
  // Adds the readers of a changed object to whose controller the change makes a difference,
  // respectively the readers of an observation.
  void readers_of(const Kind& kind, const Cache::Change& change, const Wants& wants,
                  std::set<TaskId>& out) const;
  void readers_of(std::string_view query, std::set<TaskId>& out) const;
  // Returns true if a change of this object can have readers.
  [[nodiscard]] bool is_read(const Kind& kind, const Key& key) const;
  [[nodiscard]] bool is_observed(std::string_view query) const;
  // Adds the observations that have lost their last reader since the last call.
  void take_unread(std::vector<std::string>& out);

 private:
  // In the order of controllers, so that those of one can be passed over at once.
  struct Reader {
    std::size_t controller = 0;
    TaskId id = 0;
    friend auto operator<=>(const Reader&, const Reader&) = default;
  };
  struct Known {
    Reads reads{};
    std::size_t controller = 0;
  };
  struct Lists {
    // The selects of each reader, each once: a key may read one list many times in turn with
    // others.
    using Readers = std::map<Reader, std::vector<Select>>;
    struct TextHash {
      using is_transparent = void;
      std::size_t operator()(std::string_view text) const { return hash_text(text); }
    };
    using ByValue = std::unordered_map<std::string, Readers, TextHash, std::equal_to<>>;
    // By index and value, label and value, and namespace: the readers of selects that name them.
    std::map<std::string, ByValue, std::less<>> by_index{};  // unused entries are absent
    std::map<std::pair<std::string, std::string>, Readers> by_label{};
    std::map<std::string, Readers, std::less<>> by_namespace{};
    Readers coarse{};
  };
  // Requires an unknown reader.
  void add(const Reader& reader, Reads reads);
  void add_list(const Reader& reader, const Reads::ListRead& read);
  void drop_list(const Reader& reader, const Reads::ListRead& read);
  void match(const Lists& lists, const Kind& kind, const Object& object, const Wants& wants,
             std::set<TaskId>& out) const;

  std::vector<Index> declared_;
  // Looked up, never walked.
  struct RefView {
    // Looks a Ref up as it is. NOLINTNEXTLINE(google-explicit-constructor)
    RefView(const Ref& ref) : kind(ref.kind), key(ref.key) {}
    RefView(const Kind& of, const Key& named) : kind(&of), key(named) {}
    const Kind* kind;
    const Key& key;
  };
  struct RefHash {
    using is_transparent = void;
    std::size_t operator()(const RefView& ref) const;
  };
  struct SameRef {
    using is_transparent = void;
    bool operator()(const RefView& a, const RefView& b) const;
  };
  std::unordered_map<Ref, std::set<Reader>, RefHash, SameRef> objects_{};
  std::map<const Kind*, Lists, KindOrder> lists_{};
  std::map<std::string, std::set<TaskId>, std::less<>> observations_{};
  std::unordered_map<TaskId, Known> reads_{};
  std::vector<std::string> unread_{};
};

}  // namespace athanor::runtime
