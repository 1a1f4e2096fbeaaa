// SPDX-License-Identifier: Apache-2.0
// The path of a walk's current node, as error texts spell it: spec.containers[0].name.
// Steps are noted and become a text only where one is asked for: most walks find no error.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace athanor {

class PathText {
 public:
  PathText() = default;
  explicit PathText(std::string_view start) : start_(start) {}

  // Steps down for as long as it lives; the name of the field must live as long.
  class Step {
   public:
    Step(PathText& path, std::string_view field) : path_(path) {
      path_.steps_.push_back({.field = field});
    }
    Step(PathText& path, std::size_t index) : path_(path) {
      path_.steps_.push_back({.index = index, .is_index = true});
    }
    // Steps down to a key of a map: it is no field, and may have dots.
    static Step key(PathText& path, std::string_view key) { return Step(path, key, Key{}); }
    ~Step() { path_.steps_.pop_back(); }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    struct Key {};
    Step(PathText& path, std::string_view key, Key /*key*/) : path_(path) {
      path_.steps_.push_back({.field = key, .is_key = true});
    }
    PathText& path_;
  };

  [[nodiscard]] std::string text() const {
    std::string text = start_;
    for (const Part& part : steps_) {
      if (part.is_index) {
        text.append("[").append(std::to_string(part.index)).append("]");
        continue;
      }
      if (part.is_key) {
        text.append("[").append(part.field).append("]");
        continue;
      }
      if (!text.empty()) {
        text += '.';
      }
      text += part.field;
    }
    return text;
  }
  // Returns the path of a field below this one.
  [[nodiscard]] std::string child(std::string_view field) const {
    std::string path = text();
    if (!path.empty()) {
      path += '.';
    }
    return path += field;
  }

  // Returns true if child(field) is `whole`. Compares from the end and makes no text: a part of the
  // path may be as long as a request.
  [[nodiscard]] bool child_is(std::string_view field, std::string_view whole) const {
    const auto strip = [&whole](std::string_view end) {
      const bool matches = whole.ends_with(end);
      whole.remove_suffix(matches ? end.size() : 0);
      return matches;
    };
    if (!strip(field)) {
      return false;
    }
    bool dotted = !steps_.empty() || !start_.empty();  // a name follows
    for (auto part = steps_.rbegin(); part != steps_.rend(); ++part) {
      if (dotted && !strip(".")) {
        return false;
      }
      if (part->is_index ? !strip("[" + std::to_string(part->index) + "]")
          : part->is_key ? !(strip("]") && strip(part->field) && strip("["))
                         : !strip(part->field)) {
        return false;
      }
      dotted = !part->is_index && !part->is_key && (part + 1 != steps_.rend() || !start_.empty());
    }
    return (!dotted || strip(".")) && whole == start_;
  }
  // Returns text().size().
  [[nodiscard]] std::size_t size() const {
    std::size_t size = start_.size();
    for (const Part& part : steps_) {
      size += part.is_index ? std::to_string(part.index).size() + 2
              : part.is_key ? part.field.size() + 2
                            : part.field.size() + (size > 0 ? 1 : 0);
    }
    return size;
  }

 private:
  friend class Step;
  struct Part {
    std::string_view field{};
    std::size_t index = 0;
    bool is_index = false;
    bool is_key = false;
  };
  std::string start_{};
  std::vector<Part> steps_{};
};

}  // namespace athanor
