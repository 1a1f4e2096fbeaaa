// SPDX-License-Identifier: Apache-2.0
// How the exporter's object is written (docs/spec/numa.md 9.8): what to send, without sending it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::numa {

// Actions for a round's content.
struct WriteStep {
  enum class Kind : std::uint8_t {
    Nothing,  // the object holds the content already
    Replace,  // get it, then create_body() or update_body()
    Patch,    // a merge patch of `patch`
  };
  Kind kind = Kind::Nothing;
  Value patch{};
  double patch_ratio = 0;  // size of the patch by the size of the object
};

// Decides between patches and whole updates. Not thread-safe: the loop owns it.
class WritePlanner {
 public:
  WritePlanner(std::string node, bool patch_mode, std::int64_t patch_resync)
      : node_(std::move(node)), patch_mode_(patch_mode), patch_resync_(patch_resync) {}

  // Returns the next step: the first round and every `patch_resync`-th one reads the whole object;
  // others compare with what was written last.
  [[nodiscard]] WriteStep next(const Value& content) const;
  // Notes that the object holds `content` now: it was written so, or did already.
  void written(const WriteStep& step, const Value& content);
  // Notes that a patch or an update failed: the next step reads the whole object.
  void failed();

 private:
  std::string node_;
  bool patch_mode_;
  std::int64_t patch_resync_;
  Value last_{};  // Null: nothing was written
  std::int64_t rounds_ = 0;
};

// Returns the object to POST.
Value create_body(const std::string& node, const Value& content);
// Returns the object to PUT: annotations are merged into those that are there, owners, zones and
// attributes are replaced. Null: `live` holds all that already.
Value update_body(const Object& live, const Value& content);

}  // namespace athanor::numa
