// SPDX-License-Identifier: Apache-2.0
// The path of the node that a walk stands on, as error texts spell it: spec.containers[0].name.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace athanor {

class PathText {
 public:
  PathText() = default;
  explicit PathText(std::string_view start) : text_(start) {}

  // Steps down for as long as it lives.
  class Step {
   public:
    Step(PathText& path, std::string_view field) : path_(path), length_(path.text_.size()) {
      if (!path_.text_.empty()) {
        path_.text_ += '.';
      }
      path_.text_ += field;
    }
    Step(PathText& path, std::size_t index) : path_(path), length_(path.text_.size()) {
      path_.text_.append("[").append(std::to_string(index)).append("]");
    }
    ~Step() { path_.text_.resize(length_); }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    PathText& path_;
    std::size_t length_;
  };

  [[nodiscard]] const std::string& text() const { return text_; }
  // The path of a field below this one.
  [[nodiscard]] std::string child(std::string_view field) const {
    return text_.empty() ? std::string(field) : text_ + "." + std::string(field);
  }

 private:
  friend class Step;
  std::string text_{};
};

}  // namespace athanor
