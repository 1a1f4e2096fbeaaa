// SPDX-License-Identifier: Apache-2.0
// The terminal of the live screen: keys as they are pressed, its size, and a screen of its own that
// is gone afterwards.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "cli/top/top_view.hpp"

namespace athanor::cli {

// Splits what a terminal sends into keys: "j", "up", "pagedown", "enter", "escape". Pure.
std::vector<std::string> keys_of(std::string_view bytes);

// While it lives, keys come one by one and without echo. One at a time.
class LiveScreen {
 public:
  LiveScreen();
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;
  ~LiveScreen();

  // Returns the terminal's size now; it may be resized at any time.
  [[nodiscard]] TopSize size() const;
  void show(const std::vector<std::string>& lines) const;
  // Waits for keys, a new size or the end of `patience`.
  std::vector<std::string> wait(Duration patience);

 private:
  struct Saved;
  std::unique_ptr<Saved> saved_;
};

}  // namespace athanor::cli
